import type { JsonValue, ToolResultBlock, ToolUseBlock } from '@x/core';
import { isObject, jsonText, tailOf } from '@x/core/internal';
import { commandOf, failureLine, outcomeOf, pathOf, purposeOf } from '../conversation/tool-calls.js';
import { cutEnd, cutLine, sharing } from './cut-line.js';
import { type Argument, argumentsText, type Call, endText, givenText, toolWord } from './entry.js';
import { readable, within, withoutLines } from './readable.js';
import { hashOf } from './terms.js';

/** Minimum number of equal UTF-16 units at both ends for two arguments to count as a text before and after a change. */
const SAME_ENDS = 8;
const LONG_ARGUMENT = 40;
/** Maximum UTF-16 units shown before a change, from the line in which it begins. */
const ANCHOR = 40;
/** Maximum UTF-16 units of a path that is shown in full. */
const LONGEST_PATH = 160;
/** The share of a cut command that is kept from its end, where the output usually goes. */
const COMMAND_END = 0.5;
/** Matches the `cd` that most command lines begin with. */
const FOLDER_FIRST = /^\s*cd \S+ &&\s*/;

/**
 * Renders a call's tool and input. Keeps short arguments and the file path in full, and cuts the others to share `length` UTF-16
 * units. Replaces a list with `(list)`, because the record has the newest list separately.
 */
export function given(
  use: Pick<ToolUseBlock, 'name' | 'input'>,
  length: number,
  withoutList?: Pick<ToolUseBlock, 'name' | 'input'>,
): Pick<Call, 'tool' | 'file' | 'args' | 'purpose' | 'whole'> {
  if (withoutList) {
    const { args, ...rest } = given(withoutList, length);
    return { ...rest, args: [...args, { text: '(list)' }], whole: hashOf(jsonText(use.input)) };
  }
  const { name, input } = use;
  const tool = toolWord(name);
  const path = pathOf(use);
  // For a command line, omit the folder and the timeout.
  const command = path === undefined ? commandOf(use) : undefined;
  const cut = (args: Argument[], file?: string) => ({
    tool,
    ...(file === undefined ? {} : { file }),
    args,
    ...(args.some(({ text }) => text.includes('…')) ? { whole: hashOf(jsonText(input)) } : {}),
  });
  if (command !== undefined) {
    const line = cutLine(command.replace(FOLDER_FIRST, ''), length, COMMAND_END);
    const purpose = purposeOf(use);
    return { ...cut([{ text: line }]), ...(purpose === undefined ? {} : { purpose }) };
  }
  const entries = isObject(input) ? Object.entries(input) : [];
  const values = entries
    .map(([key, value]) => ({ key, text: valueText(value) }))
    .filter(({ text }) => text !== '');
  const file = path !== undefined && path.length <= LONGEST_PATH ? path : undefined;
  if (values.length === 1) return cut(file ? [] : [{ text: cutLine(values[0]?.text ?? '', length) }], file);
  const change = changeIn(entries, length);
  const shown = values.filter(({ key, text }) => text !== file && !change?.keys.includes(key));
  const rest = change ? Math.floor(length / 2) : Math.max(length / 2, length - (file?.length ?? 0));
  const texts = sharing(
    shown.map(({ text }) => text),
    rest,
  );
  const args = shown.map(({ key }, index) => ({ key, text: texts[index] as string }));
  return cut([...args, ...(change?.args ?? [])], file);
}

/** Returns how a call ended, in at most `length` UTF-16 units: its error line, or a short answer in full. */
export function ending(
  use: ToolUseBlock,
  result: ToolResultBlock | undefined,
  text: string,
  length: number,
): Pick<Call, 'end' | 'exit' | 'outcome'> {
  if (!result) return { end: 'unanswered' };
  const { failed, exitCode } = outcomeOf(result, use);
  const words = text.trim();
  const isAnswer = words !== '' && words !== 'ok' && words.length <= length;
  if (!failed) return { end: 'done', ...(isAnswer ? { outcome: cutEnd(words, length) } : {}) };
  const line = words && failureLine(words);
  const gap = words.startsWith(line) ? '' : '…';
  return {
    end: 'failed',
    ...(exitCode === undefined ? {} : { exit: exitCode }),
    ...(line ? { outcome: cutEnd(gap + line, length) } : {}),
  };
}

function valueText(value: JsonValue | undefined): string {
  // An empty text is shown. Without it, the argument would look as if it was left out.
  if (typeof value === 'string') return value === '' ? '""' : value;
  if (value === undefined || value === null || value === false) return '';
  return typeof value === 'object' ? readable(within(jsonText(value))) : jsonText(value);
}

/** Matches an argument that is unclear without its key. */
const NEEDS_KEY = /^(?:-?\d.*|true|false|"")$/s;

/** Shortens a call's line to about `length` UTF-16 units. Drops keys and keeps short arguments in full. */
export function shortened({ purpose, ...call }: Call, length: number): Call {
  if (purpose !== undefined && purpose.length < argumentsText(call).length) {
    const whole = call.whole ?? hashOf(argumentsText(call));
    return shortened({ ...call, args: [{ text: `(${purpose})` }], whole }, length);
  }
  const end = endText(call).length;
  const outcome = Math.max(length / 2, length - argumentsText(call).length);
  // If a change does not fit, only the new text is kept.
  const isChange = call.args.some(({ key }) => key === '+');
  const told = isChange ? call.args.filter(({ key }) => key !== '−') : call.args;
  const values = told.map(({ key, text }) => {
    const isKept = key === '−' || key === '+' || NEEDS_KEY.test(text);
    return isKept && key ? { key, text } : { text };
  });
  // The first line about a file keeps the full path, because later lines use only its name.
  const name = call.name;
  const frame = argumentsText({
    ...call,
    ...(call.file ? { name: '' } : {}),
    args: values.map((value) => ({ ...value, text: '' })),
  });
  const room = Math.max(length / 2, length - end) - frame.length;
  const all = [...values.map(({ text }) => text), ...(name ? [name] : [])];
  const texts = sharing(all, room, isChange ? 0 : undefined);
  // The beginning of an error is the most useful part.
  const cut = call.end === 'failed' ? cutEnd : cutLine;
  return {
    ...call,
    ...(name ? { name: texts.at(-1) as string } : {}),
    args: values.map((value, index) => ({ ...value, text: texts[index] as string })),
    ...(call.outcome === undefined ? {} : { outcome: cut(call.outcome, outcome) }),
  };
}

/** Matches the key of an argument whose text the call replaces. */
export const OLD_KEY = /^(?:old|before|search|find|original)/i;

/** Finds two long arguments that begin and end alike: a text before and after a change, each with its key. */
export function editIn(entries: readonly (readonly [string, JsonValue | undefined])[]) {
  const long = entries.filter(
    (entry): entry is readonly [string, string] =>
      typeof entry[1] === 'string' && entry[1].length > LONG_ARGUMENT,
  );
  for (const [index, one] of long.entries()) {
    const other = long[index + 1];
    if (!other) break;
    const [before, after] = OLD_KEY.test(other[0]) ? [other, one] : [one, other];
    const { start, end } = sameEnds(before[1], after[1]);
    if (start + end >= SAME_ENDS) return { before, after, start, end };
  }
  return undefined;
}

/** Returns only the change of an edit, or the beginning of the new text if the change does not fit. */
export function changeIn(
  entries: readonly (readonly [string, JsonValue | undefined])[],
  length: number,
):
  | { readonly keys: readonly string[]; readonly args: readonly Argument[]; readonly text: string }
  | undefined {
  const edit = editIn(entries);
  if (edit === undefined) return undefined;
  const { before, after, start, end } = edit;
  const removed = before[1].slice(start, before[1].length - end).trim();
  const added = after[1].slice(start, after[1].length - end).trim();
  // The text before the change on the same line shows where the change is.
  const line = tailOf(before[1].slice(before[1].lastIndexOf('\n', start - 1) + 1, start).trim(), ANCHOR);
  const isPlaced = removed.length < LONG_ARGUMENT && line.length + removed.length + added.length <= length;
  const isWhole = removed.length + added.length <= length || added === '';
  const gone = removed === '' || !isWhole ? [] : [{ key: '−', text: cutLine(removed, length, 0) }];
  const put = isWhole ? added : cutLine(withoutLines(added, new Set(removed.split('\n'))), length, 0);
  const change = [
    ...(isPlaced && line !== '' ? [{ text: line }] : []),
    ...gone,
    ...(put === '' ? [] : [{ key: '+', text: put }]),
  ];
  return { keys: [before[0], after[0]], args: change, text: givenText(change) };
}

/** Counts the equal UTF-16 units at the start, back to a word boundary, and at the end. */
function sameEnds(before: string, after: string): { readonly start: number; readonly end: number } {
  const most = Math.min(before.length, after.length);
  let start = 0;
  while (start < most && before.charCodeAt(start) === after.charCodeAt(start)) start++;
  let end = 0;
  while (
    end < most - start &&
    before.charCodeAt(before.length - 1 - end) === after.charCodeAt(after.length - 1 - end)
  ) {
    end++;
  }
  while (start > 0 && /[\w\p{L}]/u.test(before.charAt(start - 1))) start--;
  return { start, end };
}
