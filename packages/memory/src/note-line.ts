/** Who worded a fact: a person by hand, a model, or a rule that took a person's words. */
export type FactAuthor = 'person' | 'model' | 'rule';

/** Where a fact was said. */
export interface FactSource {
  readonly sessionId: string;
  /** Left out when the whole session is meant. */
  readonly messageId?: string | undefined;
}

/** A line of a daily note. */
export interface NoteLine {
  /** Without the sign of a bullet. */
  readonly text: string;
  readonly author: FactAuthor;
  /** The day that it was said, `2026-01-31`. */
  readonly saidOn?: string | undefined;
  readonly source?: FactSource | undefined;
}

const MARK = /\s*<!-- (model|rule) (\d{4}-\d\d-\d\d) (\S+) (\S+) -->\s*$/;
const NONE = '-';

/** A bullet with a comment behind it that says who worded it, when it was said, in which session and message. */
export function renderNoteLine({ text, author, saidOn, source }: NoteLine): string {
  if (author === 'person' || saidOn === undefined) return `- ${text}`;
  const parts = [source?.sessionId, source?.messageId].map((part) =>
    part ? encodeURIComponent(part) : NONE,
  );
  return `- ${text} <!-- ${author} ${saidOn} ${parts.join(' ')} -->`;
}

/** Reads a line of a note; one without a comment was written by a person. */
export function parseNoteLine(line: string): NoteLine {
  const [, author, saidOn, session = NONE, message = NONE] = MARK.exec(line) ?? [];
  const text = withoutMark(line)
    .replace(/^\s*[-*+•]\s+/u, '')
    .trim();
  if (author === undefined) return { text, author: 'person' };
  const messageId = message === NONE ? undefined : decoded(message);
  const source = session === NONE ? undefined : { sessionId: decoded(session), messageId };
  return { text, author: author as FactAuthor, saidOn, source };
}

/** A line of Markdown without the comment behind it. */
export function withoutMark(line: string): string {
  return line.replace(MARK, '');
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
