import { InvalidInputError } from '@x/core';
import { errorText } from '@x/core/internal';
import { isMap, isScalar, parseDocument } from 'yaml';

/** The front matter and the body of a Markdown file. */
export interface FrontMatter {
  /** The parsed front matter. Empty if there is none. */
  readonly data: Readonly<Record<string, unknown>>;
  readonly body: string;
}

/** Maximum number of YAML aliases, because aliases can expand a few lines exponentially. */
const MAX_ALIASES = 10;
/** Maximum length of the front matter in characters: enough for names, a description and settings. */
const MAX_LENGTH = 8_192;
/**
 * Maximum nesting of the YAML. The library recurses, so thousands of brackets would overflow the stack and end the
 * process.
 */
const MAX_DEPTH = 32;

/**
 * Splits a Markdown file into the YAML between its first two `---` lines and the text that follows.
 *
 * @param subject Name of the file for errors: `subagents/explorer.md`.
 * @throws {InvalidInputError} if the front matter is not closed, is longer than 8 192 characters, nests deeper than 32, is
 * not valid YAML, or is not a mapping.
 */
export function parseFrontMatter(text: string, subject: string): FrontMatter {
  const source = text.replace(/^\uFEFF/, '');
  const opening = /^---[ \t]*\r?\n/.exec(source);
  if (opening === null) return { data: {}, body: source.trim() };
  const rest = source.slice(opening[0].length);
  const closing = /^---[ \t]*(?:\r?\n|$)/m.exec(rest);
  if (closing === null) throw malformed(subject, 'begins with --- but no second --- closes it');
  if (closing.index > MAX_LENGTH)
    throw malformed(subject, `is longer than ${MAX_LENGTH} characters: move the rest below it`);
  return {
    data: parseYaml(rest.slice(0, closing.index), subject),
    body: rest.slice(closing.index + closing[0].length).trim(),
  };
}

/** Returns the maximum nesting of brackets, and of list and key markers on one line. Also counts those within strings. */
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
  // The library's own check for duplicate keys takes quadratic time. Only top-level duplicates matter here.
  const document = parseDocument(source, { logLevel: 'error', uniqueKeys: false });
  const [error] = document.errors;
  if (error !== undefined) throw malformed(subject, `is not valid YAML: ${error.message}`, error);
  const names = isMap(document.contents)
    ? document.contents.items.map(({ key }) => (isScalar(key) ? String(key.value) : key))
    : [];
  if (new Set(names).size < names.length) throw malformed(subject, `repeats a key: ${names.join(', ')}`);
  if (names.includes('__proto__')) throw malformed(subject, 'has the key __proto__, which is not a setting');
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
