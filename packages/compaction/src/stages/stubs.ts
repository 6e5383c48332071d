import { type FileBlock, type Message, type ToolResultBlock, type ToolUseBlock, textOf } from '@x/core';
import { headOf } from '@x/core/internal';
import { STUB_TEXTS } from '../conversation/stub-texts.js';
import { failureLine, outcomeOf, pathOf, rangeOf } from '../conversation/tool-calls.js';
import type { StageContext } from '../stage.js';
import { numbersOf } from '../summary/numbers.js';

/** The facts in a stub that are not from the result. */
interface StubDetails {
  /** The call that the result answers. */
  readonly call?: ToolUseBlock | undefined;
  /** The place of the full text, if there is one. */
  readonly where?: string | undefined;
  /** `true` if the call must not be repeated just to see its result. */
  readonly onceOnly?: boolean | undefined;
}

const encoder = new TextEncoder();

const LINE_LENGTH = 200;
const EDGE_LINES = 3;

/**
 * Writes the stub of a masked tool result: the call, whether it succeeded, the size, and how to read the full text. If repeating the call
 * could destroy something, the stub says not to repeat it.
 * `one_line`: `[read_file src/a.ts (offset 10) → ok, 47 lines, 2340 bytes; full text: recall r12]`.
 * `head_tail`: the first and last three lines around `... (14 lines omitted) ...`, then that line.
 */
export function observationStub(
  result: ToolResultBlock,
  format: 'one_line' | 'head_tail',
  details: StubDetails,
): string {
  const text = textOf([result]);
  const { call } = details;
  const subject = [result.toolName, call && headOf(pathOf(call) ?? '', LINE_LENGTH), call && rangeOf(call)];
  const files = result.output.flatMap((part) => (part.type === 'file' ? [part.mediaType] : []));
  const parts = [statusOf(result, call, text)];
  parts.push(`${lineCount(text)} lines`, `${encoder.encode(text).length} bytes`);
  if (files.length > 0) parts.push(`with ${files.join(', ')}`);
  const once = details.onceOnly ? '; done, do not repeat' : '';
  const line = STUB_TEXTS.masked.write(
    subject.filter(Boolean).join(' '),
    parts.join(', '),
    once,
    details.where,
  );
  return format === 'one_line' ? line : headAndTail(text, line);
}

/**
 * Returns a function that names the place of a message's full text for a stub: the recall tool, the log, or none.
 *
 * @param messages The whole conversation, from which the message numbers are computed.
 */
export function placesIn(
  messages: readonly Message[],
  { recall, logLocation, original }: Pick<StageContext, 'recall' | 'logLocation' | 'original'>,
): (message: Message) => string | undefined {
  if (recall === undefined) {
    return ({ id }) => (logLocation === undefined ? undefined : `log message ${id}`);
  }
  const numbers = numbersOf(messages, original);
  return (message) => (numbers.has(message) ? `recall r${numbers.get(message)}` : undefined);
}

/** Returns whether a call succeeded, or its error. */
function statusOf(result: ToolResultBlock, call: ToolUseBlock | undefined, text: string): string {
  const { failed, exitCode } = outcomeOf(result, call);
  if (!failed) return 'ok';
  return `failed${exitCode === undefined ? '' : ` with exit ${exitCode}`}: ${failureLine(text)}`;
}

function headAndTail(text: string, line: string): string {
  const lines = text.split('\n');
  const omitted = lines.length - 2 * EDGE_LINES;
  if (omitted <= 0) return line;
  const short = (edge: string[]) => edge.map((item) => headOf(item, LINE_LENGTH));
  return [
    ...short(lines.slice(0, EDGE_LINES)),
    `... (${omitted} lines omitted) ...`,
    ...short(lines.slice(-EDGE_LINES)),
    line,
  ].join('\n');
}

function lineCount(text: string): number {
  return text === '' ? 0 : text.split('\n').length - (text.endsWith('\n') ? 1 : 0);
}

const LONGEST_NAME = 120;

/**
 * Writes the stub of a removed file: media type, name, and where to read it.
 * `[image/png, login.png; in full: recall r12]`.
 */
export function mediaReference(
  { mediaType, filename, source }: FileBlock,
  where: string | undefined,
): string {
  const address = source.type === 'url' && !source.url.startsWith('data:') ? source.url : undefined;
  const place = source.type === 'workspace' ? source.path : address;
  const name = headOf([filename, place].filter(Boolean).join(' at ').replaceAll(/\s+/g, ' '), LONGEST_NAME);
  return STUB_TEXTS.file.write([mediaType, name].filter(Boolean).join(', '), where);
}
