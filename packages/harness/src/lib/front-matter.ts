import { InvalidInputError } from '@x/core';
import { errorText } from '@x/core/internal';
import { isMap, isScalar, parseDocument } from 'yaml';

/** The front matter of a Markdown file, and its text. */
export interface FrontMatter {
  /** Empty without front matter. */
  readonly data: Readonly<Record<string, unknown>>;
  readonly body: string;
}

/** Anchors can make a few lines of YAML grow without end. */
const MAX_ALIASES = 10;
/** Names, a description and settings; more would only cost the one who reads it. */
const MAX_LENGTH = 8_192;
/** The library descends as deep as the text goes: thousands of brackets end the process where nothing can catch it. */
const MAX_DEPTH = 32;

/**
 * Splits a Markdown file into the YAML between its first two `---` lines and the text behind them.
 *
 * @param subject What an error names: `subagents/explorer.md`.
 * @throws {InvalidInputError} when the front matter is not closed, is longer than 8 192 characters, nests deeper than 32, is
 * no YAML, or is no mapping.
 */
export function parseFrontMatter(text: string, subject: string): FrontMatter {
  const source = text.replace(/^\uFEFF/, '');
  const opening = /^---[ \t]*\r?\n/.exec(source);
  if (opening === null) return { data: {}, body: source.trim() };
  const rest = source.slice(opening[0].length);
  const closing = /^---[ \t]*(?:\r?\n|$)/m.exec(rest);
  if (closing === null) throw malformed(subject, 'begins with --- but no second --- closes it');
  if (closing.index > MAX_LENGTH)
    throw malformed(subject, `is longer than ${MAX_LENGTH} characters: say the rest below it`);
  return {
    data: parseYaml(rest.slice(0, closing.index), subject),
    body: rest.slice(closing.index + closing[0].length).trim(),
  };
}

/** How deep brackets nest, and marks of lists and keys in front of each other on one line, wherever they stand. */
function depthOf(source: string): number {
  let open = 0;
  let deepest = 0;
  for (const [mark] of source.matchAll(/[[\]{}]|^[ \t]*(?:[-?:][ \t]+)+/gm)) {
    if (mark.length > 1) deepest = Math.max(deepest, mark.replaceAll(/\s/g, '').length);
    else open = Math.max(0, open + (mark === '[' || mark === '{' ? 1 : -1));
    deepest = Math.max(deepest, open);
  }
  return deepest;
}

function parseYaml(source: string, subject: string): Readonly<Record<string, unknown>> {
  if (depthOf(source) > MAX_DEPTH) throw malformed(subject, `nests deeper than ${MAX_DEPTH}`);
  // The library compares every two keys; names that are there twice matter here at the top alone.
  const document = parseDocument(source, { logLevel: 'error', uniqueKeys: false });
  const [error] = document.errors;
  if (error !== undefined) throw malformed(subject, `is not valid YAML: ${error.message}`, error);
  const names = isMap(document.contents)
    ? document.contents.items.map(({ key }) => (isScalar(key) ? String(key.value) : key))
    : [];
  if (new Set(names).size < names.length) throw malformed(subject, `has a name twice: ${names.join(', ')}`);
  if (names.includes('__proto__')) throw malformed(subject, 'is named __proto__, which is not a setting');
  let data: unknown;
  try {
    data = document.toJS({ maxAliasCount: MAX_ALIASES });
  } catch (cause) {
    throw malformed(subject, `is not valid YAML: ${errorText(cause)}`, cause);
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
