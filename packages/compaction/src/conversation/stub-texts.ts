/** A text that stands instead of another: models imitate what they see, and may copy it into a call. */
interface StubText {
  /** The note on every message or block that has such a text. */
  readonly mark: string;
  /** Left out where the user has chosen the text. */
  readonly write?: (...facts: never[]) => string;
  /** Finds a copy, also of a part of it; `undefined` where the note itself holds the text. */
  readonly pattern: RegExp | undefined;
}

/** The end of a text that names the place of the whole. */
const fullText = (where: string | undefined) => (where === undefined ? '' : `; full text: ${where}`);

/**
 * Every text that this package leaves instead of others. No message can be marked as altered without a row here, and the
 * copies that are refused follow from the rows.
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

/** What finds a stub in a text. */
export const stubPatterns: readonly RegExp[] = TEXTS.flatMap(({ pattern }) => pattern ?? []);
