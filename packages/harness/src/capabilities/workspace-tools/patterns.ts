import { InvalidInputError } from '@x/core';
import { errorText } from '@x/core/internal';
import { RE2JS, RE2JSException } from 're2js';

/** Maximum number of instructions of a compiled pattern. */
const MAX_INSTRUCTIONS = 2_000;
/** Maximum of characters times instructions for one match: about 0.1 s in the worst case. */
const MAX_STEPS = 5_000_000;

/**
 * An untrusted pattern. The engine never backtracks: a match takes time proportional to text length times pattern size.
 */
export interface Pattern {
  /** Number of characters of a text that are searched. */
  readonly maxChars: number;
  matches(text: string): boolean;
}

/** @throws {InvalidInputError} naming the argument, if the pattern is invalid or too large. */
export function compilePattern(source: string, argument: string, ignoreCase = false): Pattern {
  const refuse = (message: string) =>
    new InvalidInputError('input of the tool', [{ path: argument, message }]);
  let pattern: RE2JS;
  try {
    pattern = RE2JS.compile(RE2JS.translateRegExp(source), ignoreCase ? RE2JS.CASE_INSENSITIVE : 0);
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error;
    throw refuse(`${errorText(error)}; use RE2 syntax, without lookaround and backreferences`);
  }
  const size = pattern.programSize();
  if (size > MAX_INSTRUCTIONS) throw refuse('the pattern is too large; use smaller repetitions');
  const maxChars = Math.floor(MAX_STEPS / size);
  return {
    maxChars,
    matches: (text) => pattern.test(text.length > maxChars ? text.slice(0, maxChars) : text),
  };
}

/** Regular expressions for the wildcards of a glob. `**` matches any number of directories. */
const WILDCARDS: Readonly<Record<string, string>> = {
  '**/': '(?:.*/)?',
  '**': '.*',
  '*': '[^/]*',
  '?': '[^/]',
  '[!': '[^',
  '[': '[',
  ']': ']',
  '{': '(?:',
  '}': ')',
  ',': '|',
};
const GLOB_TOKEN = /\\.|\*\*\/|\*\*|\[!|./gsu;

/**
 * Compiles a glob with `**`, `*`, `?`, `[a-z]`, `[!a-z]` and `{a,b}`. Wildcards also match names that begin with a dot.
 */
export function compileGlob(glob: string, argument: string): Pattern {
  let source = '';
  let depth = 0;
  let inClass = false;
  for (const token of glob.replace(/^\.\//, '').match(GLOB_TOKEN) ?? []) {
    const isPlain = inClass ? token !== ']' : token === ']' || (depth === 0 && /[},]/.test(token));
    const meaning = isPlain ? undefined : WILDCARDS[token];
    source += meaning ?? RE2JS.quote(token.length > 1 && token.startsWith('\\') ? token.slice(1) : token);
    if (meaning === undefined) continue;
    if (token.startsWith('[') || token === ']') inClass = token !== ']';
    if (token === '{') depth += 1;
    if (token === '}') depth -= 1;
  }
  return compilePattern(`(?s)^(?:${source})$`, argument);
}
