import { type ToolResultBlock, type ToolUseBlock, textOf } from '@x/core';
import { type CommandEnd, endIn, isObject, memoize } from '@x/core/internal';
import { cutLine } from '../record/cut-line.js';

const PATH_KEYS = [
  'path',
  'file_path',
  'filePath',
  'absolute_path',
  'relative_path',
  'file',
  'filename',
  'notebook_path',
  'target_file',
  'paths',
  'files',
];
/** Keys of a folder that a call is about. Ignored if the call has a command line, because it only runs in that folder. */
const FOLDER_KEYS = ['directory'];

const RANGE_KEYS = [
  'offset',
  'limit',
  'charOffset',
  'startLine',
  'endLine',
  'start_line',
  'end_line',
  'view_range',
  'line_range',
];

const COMMAND_KEYS = ['command', 'cmd', 'script'];

/** Returns the first file that a tool call names, by the usual names of arguments. */
export function pathOf(call: Pick<ToolUseBlock, 'input'>): string | undefined {
  return pathsOf(call)[0];
}

/** Returns all files that a tool call names. */
export const pathsOf = memoize((call: Pick<ToolUseBlock, 'input'>): readonly string[] => {
  const { input } = call;
  if (!isObject(input)) return [];
  for (const key of [...PATH_KEYS, ...(commandOf(call) === undefined ? FOLDER_KEYS : [])]) {
    const value = input[key];
    const paths = Array.isArray(value) ? value : [value];
    if (
      paths.length > 0 &&
      paths.every((path): path is string => typeof path === 'string' && path.trim() !== '')
    )
      return paths;
  }
  return [];
});

/** Tests a tool's name against patterns: a name, or a beginning followed by `*`. */
export function matchesTool(patterns: readonly string[], name: string): boolean {
  return patterns.some((pattern) =>
    pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern,
  );
}

/** Returns the range of a file that a tool call reads, by the usual names of arguments: `(offset 10, limit 50)`. */
export function rangeOf(call: Pick<ToolUseBlock, 'input'>): string | undefined {
  const input = call.input;
  if (!isObject(input)) return undefined;
  const parts = RANGE_KEYS.flatMap((key) => {
    const value = input[key];
    if (typeof value === 'number') return [`${key} ${value}`];
    const isPair =
      Array.isArray(value) && value.length === 2 && value.every((end) => typeof end === 'number');
    return isPair ? [`${key} ${value.join('–')}`] : [];
  });
  return parts.length > 0 ? `(${parts.join(', ')})` : undefined;
}

/** Returns the command line that a tool call runs. */
export const commandOf = memoize((call: Pick<ToolUseBlock, 'input'>): string | undefined => {
  const input = call.input;
  if (!isObject(input)) return undefined;
  for (const key of COMMAND_KEYS) {
    const value = input[key];
    if (typeof value === 'string' && value.trim()) return value;
    if (Array.isArray(value) && value.every((part) => typeof part === 'string')) return value.join(' ');
  }
  return undefined;
});

/** Returns what the model said that a call is for. Shell tools often ask it for a `description` of the command. */
export function purposeOf({ input }: Pick<ToolUseBlock, 'input'>): string | undefined {
  const description = isObject(input) ? input.description : undefined;
  return typeof description === 'string' && description.trim() !== '' ? description.trim() : undefined;
}

/** UTF-16 units at the head and tail of a result that are searched for an exit code. */
const HEAD = 200;
const TAIL = 400;

/** Matches a line that holds only an exit code: `exit 1`, `Exit code: 1`, `[Command finished with exit code 1]`. */
const STATUS =
  /^[^\w\n]{0,40}(?:(?:the )?(?:process|command)\b[\w ]{0,80} )?exit(?:ed)?(?: with)?(?: code| status)?[ :=]{1,9}(-?\d{1,20})(?!\w)[^\w\n]*$/im;

/** Matches an exit code within a line, in words that do not occur in scripts. */
const MENTION = /\b(?:exited(?: with)?(?: code| status)?|exit (?:code|status))[ :=]+(-?\d+)/i;
const KILLED = /^(?:killed by \w+|(?:timed out|stopped by the \w+) after \d+ m?s( and was killed)?)(?:\n|$)/;

/**
 * Tests if a call failed: by the tool's error flag or, for a call with a command line, by how the command ended. Many shell tools return an
 * ordinary result for a failed command.
 */
export function outcomeOf(result: ToolResultBlock, use: Pick<ToolUseBlock, 'input'> | undefined): CommandEnd {
  // Words about exit codes in a file or a page are content, not an outcome.
  const isCommand = use !== undefined && commandOf(use) !== undefined && pathOf(use) === undefined;
  const end = isCommand ? endOf(result) : undefined;
  return { failed: result.isError || end?.failed === true, exitCode: end?.exitCode };
}

/**
 * Returns how the command behind a result ended: by the note of the tool or of the stub that replaced its text. Only a result of unknown
 * origin without a note, as of another framework, is searched for it.
 */
export const endOf = memoize((result: ToolResultBlock): CommandEnd => {
  const noted = result.output.map((block) => endIn(block.providerMetadata)).find(Boolean);
  if (noted !== undefined || result.origin !== undefined) return noted ?? { failed: result.isError };
  const text = textOf([result]);
  const [head, tail] = [text.slice(0, HEAD), text.slice(-TAIL)];
  if (KILLED.test(head)) return { failed: true };
  // The first line is the tool's own. Lines below may be output that quotes others.
  const code =
    codeIn(head.split('\n', 1).join(), STATUS) ?? codeIn(head, STATUS) ?? codeIn(tail, STATUS, MENTION);
  return code === undefined ? { failed: result.isError } : { failed: code !== 0, exitCode: code };
});

function codeIn(text: string, ...patterns: readonly RegExp[]): number | undefined {
  // A cheap test first, because most results have no exit code.
  if (!/exit/i.test(text)) return undefined;
  for (const pattern of patterns) {
    const code = pattern.exec(text)?.[1];
    if (code !== undefined) return Number(code);
  }
  return undefined;
}

// All patterns match at the beginnings of words, so that `thread` does not match `read`, and `application` not `cat`.
const CHANGES =
  /^(?:write|overwrite|edit|multiedit|create|patch|replace|insert|append|apply|update|modify|delete|remove|move|rename|save|manage$|set$)/;

const READS = /^(?:read|view|cat$|list|ls$|glob|grep|search|find|fetch|get)/;
/** Matches a word that joins two verbs: `fetch_and_book` may act, whatever its second verb is. */
const JOINS = /^(?:and|or|then)$/;
const WORD_BOUNDARY = /[^\p{L}\p{N}]+|(?<=\p{Ll})(?=\p{Lu})/u;

/** Tests if a tool's name says that it reads, and does not say that it may change anything. */
export function readsByName(tool: string): boolean {
  const words = tool.split(WORD_BOUNDARY).map((word) => word.toLowerCase());
  return (
    words.some((word) => READS.test(word)) && !words.some((word) => CHANGES.test(word) || JOINS.test(word))
  );
}

/** Maximum UTF-16 units of an error line. */
const ERROR_LENGTH = 160;

/** Patterns of error lines, the most specific first. */
const TELLING = [
  /\b\w*(?:Error|Exception)\b\s*[:(]|\berror(?:\[\w+\])?:/,
  /error|exception|denied|not found|refused|cannot|unable/i,
  /fail/i,
];

/** Finds the error line of a text, or else its first line. */
export function failureLine(text: string): string {
  const lines = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !STATUS.test(line));
  const telling = TELLING.map((pattern) => lines.find((line) => pattern.test(line))).find(Boolean);
  return cutLine(telling ?? lines[0] ?? 'no message', ERROR_LENGTH, 0);
}
