import { createHash } from 'node:crypto';
import { UNCONFIRMED } from '@x/core/internal';

/** Who wrote a fact. */
type FactAuthor = 'person' | 'model';

/** Where a fact was stated. */
export interface FactSource {
  readonly sessionId: string;
  /** Omitted if the fact comes from the session as a whole. */
  readonly messageId?: string | undefined;
}

/** A bullet of MEMORY.md. */
export interface MemoryFact {
  readonly id: string;
  readonly text: string;
  readonly author: FactAuthor;
  /** The day on which the fact was stated, `2026-01-31`. Unknown for lines that a person wrote. */
  readonly saidOn?: string | undefined;
  readonly source?: FactSource | undefined;
}

/** A line of a daily note. */
export type NoteLine = Omit<MemoryFact, 'id'>;

const MARK = /^<!-- model (\d{4}-\d\d-\d\d) (\S+) (\S+) -->$/;
const NONE = '-';
/** The marker at the beginning of a bullet. */
export const SIGN = /^\s*[-*+•]\s+/u;
/** Matches what a model reads before a fact: where a search found it, its line number or change, the list marker, and the author. */
const SHOWN =
  /^\s*(?:(?:(?:MEMORY|memory\/[\w./-]+)\.md:\d+: |\d+\| |(?:now|no longer): )?[-*+•]\s+)?(?:\[model \d{4}-\d\d-\d\d\]\s+)?/u;
const LINE_SIGN = /^[\s>]*(?:(?:[-*+•]|\d+[.)])\s+)?(?:\[[ xX]\]\s+)?/u;
const BULLET = /^[-*+•]\s+(\S.*)$/u;
const RULE = /^([-*])(?: *\1){2,}$/;
const HEADING = /^#{1,6}\s/;
/** Matches the beginning of a line that does not continue the previous line. Comments of notes may be wrapped like other text. */
const BEGINS = /^[\s>]*(?:[-*+•]\s|\d+[.)]\s|#{1,6}\s|`{3}|~{3}|\||<!--(?! model\b))/u;
const NAME_CHARACTER = /[a-z0-9]/i;
const FENCE = /^\s*(`{3,}|~{3,})/;

/** Renders a bullet. A comment after the text names the author, the day, the session and the message. */
export function renderNoteLine({ text, author, saidOn, source }: NoteLine): string {
  if (author === 'person' || saidOn === undefined) return `- ${text}`;
  const parts = [source?.sessionId, source?.messageId].map((part) =>
    part ? encodeURIComponent(part) : NONE,
  );
  return `- ${text} <!-- model ${saidOn} ${parts.join(' ')} -->`;
}

/** Parses a line of a note. A line without a comment was written by a person. */
export function parseNoteLine(line: string): NoteLine {
  const { said, mark } = parted(line);
  const [, saidOn, session = NONE, message = NONE] = mark ?? [];
  const text = said.replace(SIGN, '').trim();
  if (saidOn === undefined) return { text, author: 'person' };
  const messageId = message === NONE ? undefined : decoded(message);
  const source = session === NONE ? undefined : { sessionId: decoded(session), messageId };
  return { text, author: 'model', saidOn, source };
}

/** Removes the comment from a line. */
export function withoutMark(line: string): string {
  return parted(line).said;
}

// This searches from the end. A pattern that looks for the beginning would be slow on a line with a million spaces.
function parted(line: string) {
  const whole = line.trimEnd();
  const start = whole.endsWith('-->') ? whole.lastIndexOf('<!-- ') : -1;
  const mark = start < 0 ? null : MARK.exec(whole.slice(start));
  return { said: mark === null ? line : whole.slice(0, start).trimEnd(), mark };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Returns the text as one line, without control characters, lone surrogates, and text that looks like a comment of a note. */
export function plainLine(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/\p{Cc}/gu, '')
    .replaceAll('<!--', '‹!--')
    .trim();
}

/** A list item or paragraph of a Markdown text, which may span several lines. In code, one line. */
export interface Statement {
  /** With its marker and comment, joined into one line. */
  readonly whole: string;
  /** The first line, and the line after the last one, counted from 0. */
  readonly start: number;
  readonly end: number;
}

/** A bullet of a Markdown text, with the statements indented below it. */
export interface Bullet extends Statement {
  readonly text: string;
  readonly key: string;
}

/** Removes list, task and quotation markers from the beginning of a line. */
export function saidIn(line: string): string {
  return line.replace(LINE_SIGN, '');
}

/** Removes the mark of an unconfirmed fact from its text. */
export function confirmed(text: string): string {
  return text.startsWith(UNCONFIRMED) ? text.replace(/^[^\]]*\] ?/, '') : text;
}

/** Returns a fact without the marks with which a model reads it: place, list marker, author, unconfirmed. */
export function withoutShownMarks(line: string): string {
  return confirmed(line.replace(SHOWN, ''));
}

/** Tests whether a line is a heading of Markdown. */
export function isHeading(line: string): boolean {
  return HEADING.test(line.trimStart());
}

/** Returns the text of a bullet, and `undefined` for any other line. */
export function bulletText(line: string): string | undefined {
  const whole = withoutMark(line).trim();
  return RULE.test(whole) ? undefined : BULLET.exec(whole)?.[1];
}

/**
 * Returns the same key for texts that differ only in case, spaces, emphasis or the full stop. Case counts in backticks. Characters within a
 * name or a number are not emphasis: `user_id`, `5*3`.
 */
export function factKey(text: string): string {
  return withoutMark(text)
    .normalize('NFKC')
    .replaceAll(/`[^`]*`|[^`]+/g, (part) => (part.startsWith('`') ? part : part.toLowerCase()))
    .replaceAll(/[*_`]+/g, (signs, at: number, whole: string) =>
      NAME_CHARACTER.test(whole[at - 1] ?? '') && NAME_CHARACTER.test(whole[at + signs.length] ?? '')
        ? signs
        : '',
    )
    .replaceAll(/\s+/g, ' ')
    .replace(/(?<![.!。！\s])[.!。！\s]+$/u, '')
    .trim();
}

export function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}

/** Hashes a fact's key. The fact cannot be restored from the hash. */
export function keyHash(key: string): string {
  return hashOf(key).slice(0, 16);
}

/** Returns the hash of a reference to a line, which has the form "note name, hash of the line's key". */
export function hashIn(from: string): string {
  return from.split(' ')[1] ?? from;
}

/** Returns the statements of a text. As in Markdown, a line that does not begin something new continues the previous one. */
export function statementsOf(text: string): (Statement & { readonly isCode: boolean })[] {
  const statements: { whole: string; start: number; end: number; isCode: boolean }[] = [];
  const lines = text.split('\n');
  const code = fencedLines(lines);
  let isOpen = false;
  for (const [start, line] of lines.entries()) {
    const said = line.replace(/^[\s>]+/, '').trimEnd();
    const isCode = code.has(start);
    const last = statements.at(-1);
    if (said !== '' && last && isOpen && !isCode && !BEGINS.test(line) && !RULE.test(said)) {
      last.whole += ` ${said}`;
      last.end = start + 1;
    } else if (line.trim() !== '') statements.push({ whole: line.trimEnd(), start, end: start + 1, isCode });
    // A line of a note ends with its comment, even if a person adds text after it.
    const isMarked = said.endsWith('-->') && parted(statements.at(-1)?.whole ?? '').mark !== null;
    isOpen = said !== '' && !isCode && !isMarked && !HEADING.test(said) && !RULE.test(said);
  }
  return statements;
}

/** Returns the bullets of a text, each with the statements indented below it. Fenced code has no bullets. */
export function bulletsOf(text: string): Bullet[] {
  const bullets: (Statement & { text: string; end: number })[] = [];
  /** The indent of the bullet that can take the next statements. */
  let open: number | undefined;
  for (const { whole, start, end, isCode } of statementsOf(text)) {
    const indent = whole.search(/\S/);
    const bullet = isCode ? undefined : bulletText(whole);
    const last = bullets.at(-1);
    if (last !== undefined && open !== undefined && indent > open) {
      last.text += ` ${withoutMark(whole).trim()}`;
      last.end = end;
    } else {
      if (bullet !== undefined) bullets.push({ whole, text: bullet, start, end });
      open = bullet === undefined ? undefined : indent;
    }
  }
  return bullets.map((bullet) => ({ ...bullet, key: factKey(bullet.text) }));
}

/** Returns the line numbers of fenced code, comments and YAML front matter. An unclosed fence does not count. */
export function fencedLines(lines: readonly string[]): ReadonlySet<number> {
  const fenced = new Set<number>();
  let open: { readonly isEnd: (line: string) => boolean; readonly at: number } | undefined;
  for (const [at, line] of lines.entries()) {
    if (open === undefined) {
      const isEnd = endOf(line, at === 0 ? lines[1] : undefined);
      open = isEnd && { isEnd, at };
    } else if (open.isEnd(line)) {
      for (let number = open.at; number <= at; number++) fenced.add(number);
      open = undefined;
    }
  }
  return fenced;
}

/** Returns a test for the closing line of the fence, comment or YAML that `line` opens. `second` is the file's second line. */
function endOf(line: string, second: string | undefined): ((line: string) => boolean) | undefined {
  const fence = FENCE.exec(line)?.[1];
  if (fence !== undefined) {
    return (other) => other.trim().startsWith(fence) && FENCE.exec(other)?.[1] === other.trim();
  }
  if (/^\s*<!--(?! model\b|.*-->)/.test(line)) return (other) => other.includes('-->');
  return line.trim() === '---' && /^\w[\w-]*:/.test(second ?? '')
    ? (other) => other.trim() === '---'
    : undefined;
}

/** Removes the bullets that pass a test, with their continuation lines. */
export function withoutBullets(text: string, isGone: (bullet: Bullet) => boolean): string {
  return withoutLines(text, bulletsOf(text).filter(isGone));
}

/** Removes all bullets, statements and lines that pass a test. The test gets them without markers and comments. */
export function withoutSaid(text: string, isGone: (said: string) => boolean): string {
  const bullets = bulletsOf(text).filter((bullet) => isGone(bullet.text));
  const lines = text.split('\n').map((whole, start) => ({ whole, start, end: start + 1 }));
  const others = [...statementsOf(text), ...lines].filter(({ whole }) => isGone(saidIn(whole)));
  return withoutLines(text, [...bullets, ...others]);
}

function withoutLines(text: string, parts: readonly Statement[]): string {
  const lines: (string | undefined)[] = text.split('\n');
  for (const { start, end } of parts) lines.fill(undefined, start, end);
  return lines.filter((line) => line !== undefined).join('\n');
}

/** Returns the keys of all bullets in a text. */
export function factKeys(text: string): Set<string> {
  return new Set(bulletsOf(text).map(({ key }) => key));
}
