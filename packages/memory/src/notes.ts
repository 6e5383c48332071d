import { createHash } from 'node:crypto';

/** Who worded a fact: a person by hand, a model, or a rule that took a person's words. */
export type FactAuthor = 'person' | 'model' | 'rule';

/** Where a fact was said. */
export interface FactSource {
  readonly sessionId: string;
  /** Left out when the whole session is meant. */
  readonly messageId?: string | undefined;
}

/** A bullet of MEMORY.md. */
export interface MemoryFact {
  readonly id: string;
  readonly text: string;
  readonly author: FactAuthor;
  /** The day that it was said, `2026-01-31`; not known of what people write by hand. */
  readonly saidOn?: string | undefined;
  readonly source?: FactSource | undefined;
}

/** A line of a daily note. */
export type NoteLine = Omit<MemoryFact, 'id'>;

const MARK = /^<!-- (model|rule) (\d{4}-\d\d-\d\d) (\S+) (\S+) -->$/;
const NONE = '-';
/** What a bullet begins with. */
export const SIGN = /^\s*[-*+•]\s+/u;
const LINE_SIGN = /^[\s>]*(?:(?:[-*+•]|\d+[.)])\s+)?(?:\[[ xX]\]\s+)?/u;
const BULLET = /^[-*+•]\s+(\S.*)$/u;
const RULE = /^([-*])(?: *\1){2,}$/;
const NAME_CHARACTER = /[a-z0-9]/i;
const FENCE = /^\s*(`{3,}|~{3,})/;
/** How notes that were taken without a model begin. */
const LABEL = /^(?:preference|decision|fact) \(as stated\): /i;

/** Writes a bullet with a comment behind it: who worded it, when it was said, in which session and message. */
export function renderNoteLine({ text, author, saidOn, source }: NoteLine): string {
  if (author === 'person' || saidOn === undefined) return `- ${text}`;
  const parts = [source?.sessionId, source?.messageId].map((part) =>
    part ? encodeURIComponent(part) : NONE,
  );
  return `- ${text} <!-- ${author} ${saidOn} ${parts.join(' ')} -->`;
}

/** Reads a line of a note; one without a comment was written by a person. */
export function parseNoteLine(line: string): NoteLine {
  const { said, mark } = parted(line);
  const [, author, saidOn, session = NONE, message = NONE] = mark ?? [];
  const text = said.replace(SIGN, '').trim();
  if (author === undefined) return { text, author: 'person' };
  const messageId = message === NONE ? undefined : decoded(message);
  const source = session === NONE ? undefined : { sessionId: decoded(session), messageId };
  return { text, author: author as FactAuthor, saidOn, source };
}

/** Cuts the comment off a line. */
export function withoutMark(line: string): string {
  return parted(line).said;
}

// No pattern that looks for its beginning: a line may have a million spaces.
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

/** Makes one line without control characters, in which nothing looks like one of the marks in a note. */
export function plainLine(text: string): string {
  return text
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/\p{Cc}/gu, '')
    .replaceAll('<!--', '‹!--')
    .trim();
}

/** A bullet of a Markdown file, with the lines that continue it. */
export interface Bullet {
  readonly text: string;
  readonly key: string;
  /** Its first line, and the one behind its last, from 0. */
  readonly start: number;
  readonly end: number;
}

/** What a line says without the signs of lists, tasks and quotations before it. */
export function saidIn(line: string): string {
  return line.replace(LINE_SIGN, '');
}

/** Answers the text of a bullet, and `undefined` for any other line. */
export function bulletText(line: string): string | undefined {
  const whole = withoutMark(line).trim();
  return RULE.test(whole) ? undefined : BULLET.exec(whole)?.[1];
}

/**
 * What texts have in common that say the same but for case, spaces, emphasis and the full stop. In backticks stands a name, whose
 * case counts; what stands within a name or a number is no emphasis: `user_id`, `5*3`.
 */
export function factKey(text: string): string {
  return withoutMark(text)
    .replace(LABEL, '')
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

/** Names a fact's key by a hash, from which the fact cannot be had back. */
export function keyHash(key: string): string {
  return hashOf(key).slice(0, 16);
}

/** Answers the bullets of a text, each with what is indented below it. In fenced code there are none. */
export function bulletsOf(text: string): Bullet[] {
  const bullets: { text: string; start: number; end: number }[] = [];
  const lines = text.split('\n');
  const code = fencedLines(lines);
  /** How far the bullet is indented that the next lines may belong to. */
  let open: number | undefined;
  for (const [number, line] of lines.entries()) {
    const indent = line.search(/\S/);
    if (indent < 0) continue;
    const bullet = code.has(number) ? undefined : bulletText(line);
    const last = bullets.at(-1);
    if (last !== undefined && open !== undefined && indent > open) {
      last.text += ` ${withoutMark(line).trim()}`;
      last.end = number + 1;
    } else {
      if (bullet !== undefined) bullets.push({ text: bullet, start: number, end: number + 1 });
      open = bullet === undefined ? undefined : indent;
    }
  }
  return bullets.map((bullet) => ({ ...bullet, key: factKey(bullet.text) }));
}

/** The numbers of the lines of fenced code, comments and what stands as YAML at the top; what nothing closes begins none. */
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

/** What ends what a line begins; `second` is the line behind the first of a file. */
function endOf(line: string, second: string | undefined): ((line: string) => boolean) | undefined {
  const fence = FENCE.exec(line)?.[1];
  if (fence !== undefined) {
    return (other) => other.trim().startsWith(fence) && FENCE.exec(other)?.[1] === other.trim();
  }
  if (/^\s*<!--(?!.*-->)/.test(line)) return (other) => other.includes('-->');
  return line.trim() === '---' && /^\w[\w-]*:/.test(second ?? '')
    ? (other) => other.trim() === '---'
    : undefined;
}

/** Takes out of a text the bullets that a test is true of, with the lines that continue them. */
export function withoutBullets(text: string, isGone: (bullet: Bullet) => boolean): string {
  const lines: (string | undefined)[] = text.split('\n');
  for (const { start, end } of bulletsOf(text).filter(isGone)) lines.fill(undefined, start, end);
  return lines.filter((line) => line !== undefined).join('\n');
}

/** Answers the keys of all bullets in a text. */
export function factKeys(text: string): Set<string> {
  return new Set(bulletsOf(text).map(({ key }) => key));
}
