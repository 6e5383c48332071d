import { errorText, InvalidInputError } from '@x/core';
import { parseDocument } from 'yaml';

/** The front matter of a Markdown file, and its text. */
export interface FrontMatter {
  /** Empty without front matter. */
  readonly data: Readonly<Record<string, unknown>>;
  readonly body: string;
}

/** Anchors can make a few lines of YAML grow without end. */
const MAX_ALIASES = 10;

/**
 * Splits a Markdown file into the YAML between its first two `---` lines and the text behind them.
 *
 * @param subject What an error names: `subagents/explorer.md`.
 * @throws {InvalidInputError} when the front matter is not closed, is no YAML, or is no mapping.
 */
export function parseFrontMatter(text: string, subject: string): FrontMatter {
  const source = text.replace(/^\uFEFF/, '');
  const opening = /^---[ \t]*\r?\n/.exec(source);
  if (opening === null) return { data: {}, body: source.trim() };
  const rest = source.slice(opening[0].length);
  const closing = /^---[ \t]*(?:\r?\n|$)/m.exec(rest);
  if (closing === null) throw malformed(subject, 'begins with --- but no second --- closes it');
  return {
    data: parseYaml(rest.slice(0, closing.index), subject),
    body: rest.slice(closing.index + closing[0].length).trim(),
  };
}

function parseYaml(source: string, subject: string): Readonly<Record<string, unknown>> {
  const document = parseDocument(source, { logLevel: 'error' });
  const [error] = document.errors;
  if (error !== undefined) throw malformed(subject, `is no YAML: ${error.message}`, error);
  let data: unknown;
  try {
    data = document.toJS({ maxAliasCount: MAX_ALIASES });
  } catch (cause) {
    throw malformed(subject, `is no YAML: ${errorText(cause)}`, cause);
  }
  if (data === null) return {};
  if (typeof data !== 'object' || Array.isArray(data)) {
    throw malformed(subject, 'must be a mapping of names to values');
  }
  return data as Record<string, unknown>;
}

function malformed(subject: string, message: string, cause?: unknown): InvalidInputError {
  return new InvalidInputError(subject, [{ path: 'front matter', message }], { cause });
}
