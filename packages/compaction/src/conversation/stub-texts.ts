/** A text that replaces another. Models imitate their context, and may copy a stub into a call. */
interface StubText {
  /** The note on every message or block that has such a text. */
  readonly mark: string;
  /** Omitted if the text is configured by the user. */
  readonly write?: (...facts: never[]) => string;
  /** Matches a full or partial copy. `undefined` if the note itself holds the text. */
  readonly pattern: RegExp | undefined;
}

/** Renders the end of a stub, which names the place of the full text. */
const fullText = (where: string | undefined) => (where === undefined ? '' : `; full text: ${where}`);

/**
 * Every replacement text of this package. A message can be marked as altered only with one of these, and copies of them in
 * calls are rejected.
 */
export const STUB_TEXTS = {
  masked: {
    mark: 'masked',
    write: (subject: string, outcome: string, once: string, where: string | undefined) =>
      `[${subject} → ${outcome}${once}${fullText(where)}]`,
    pattern:
      /; full text: (?:recall|log message|read_file) [^\s\]]+\]| → (?:ok|failed[^\]→]{0,200}), \d{1,9} lines, \d{1,15} bytes/,
  },
  previewed: {
    mark: 'previewed',
    write: (tokens: number, head: string) => `[shortened, was ~${tokens} tokens] ${head}`,
    pattern: /\[shortened, was ~\d+ tokens\]/,
  },
  truncated: {
    mark: 'truncated',
    pattern: undefined,
  },
  cut: {
    mark: 'cut',
    write: (left: number, all: number, why: string) =>
      `[… ${left} of ${all} characters are left out: ${why} …]`,
    pattern: /\[… \d+ of \d+ characters are left out:/,
  },
  counted: {
    mark: 'cut',
    write: (all: number, why: string) => `[${all} characters in fewer: ${why}]`,
    pattern: /\[\d+ characters in fewer:/,
  },
  file: {
    mark: 'cut',
    write: (file: string, where: string | undefined) =>
      `[${file}${where === undefined ? '' : `; in full: ${where}`}]`,
    pattern: /\[[\w.+-]{1,100}\/[\w.+-][^[\]\n]*; in full: /,
  },
  leftOut: {
    mark: 'shortened',
    write: (left: number, all: number) => `[… ${left} of ${all} characters left out …]`,
    pattern: /\[… \d+ of \d+ characters left out …\]/,
  },
  repeated: {
    mark: 'shortened',
    write: (left: number) => `[… ${left} characters as in an earlier message …]`,
    pattern: /\[… \d+ characters as in an earlier message …\]/,
  },
  evicted: {
    mark: 'evictedTo',
    write: (what: string, all: number, lines: number, path: string) =>
      `[${what} has ${all} characters in ${lines} lines. It was written ` +
      `to ${path}: read the parts you need with read_file. Its beginning and end:]`,
    pattern: /: read the parts you need with read_file\. Its beginning and end:\]/,
  },
  middle: {
    mark: 'evictedTo',
    write: (left: number) => `[… ${left} characters …]`,
    pattern: /\[… \d+ characters …\]/,
  },
} satisfies Readonly<Record<string, StubText>>;

/** A note on a message or block that has a stub. */
export type StubMark = (typeof STUB_TEXTS)[keyof typeof STUB_TEXTS]['mark'];

const TEXTS: readonly StubText[] = Object.values(STUB_TEXTS);

/** The notes that mark an altered message or block. */
export const stubMarks: ReadonlySet<string> = new Set(TEXTS.map(({ mark }) => mark));

/** The patterns that match stubs in a text. */
export const stubPatterns: readonly RegExp[] = TEXTS.flatMap(({ pattern }) => pattern ?? []);
