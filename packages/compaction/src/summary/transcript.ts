import {
  type ContentBlock,
  type JsonValue,
  type Message,
  type ToolUseBlock,
  textOf,
  toolUsesOf,
} from '@x/core';
import { diffLines, digestWork, isObject, isTimeToRest, LINE_BREAK, type Work } from '@x/core/internal';
import { pairingOf } from '@x/core/messages';
import { cutToTokens, mapStrings } from '../conversation/text.js';
import { outcomeOf } from '../conversation/tool-calls.js';
import type { Meter } from '../meter.js';
import { changeIn, editIn } from '../record/calls.js';
import { resultText } from '../record/readable.js';
import { cutByUse, usesIn } from './lines-by-use.js';
import { toldOnce } from './told-once.js';

/** A message as a summarizer reads it: its content between marks that the content cannot forge. */
export interface TranscriptEntry {
  readonly text: string;
  /** Index after the last entry of the batch of calls and results that the message belongs to. */
  readonly end: number;
}

/** A failed result keeps this many times the length of other results, up to `LONGEST_FAILURE` UTF-16 units. */
const FAILED_LENGTH = 8;
const LONGEST_FAILURE = 16_000;
/** Shortest request, in UTF-16 units, that is not repeated in the transcript if the prompt lists it. */
const LONG_REQUEST = 200;
/** UTF-16 units that every argument may keep, even if results are cut shorter. */
const ARGUMENT_LENGTH = 500;

/**
 * Renders messages for a summarizer, in steps. Omits thinking, and shows edits as their changes. Cuts results and arguments to
 * `resultLength` UTF-16 units, failed results to eight times as many, and keeps the lines that the conversation used later. Every line of
 * markup contains `nonce`.
 *
 * @param known `listed`: numbers of the requests that the prompt lists whole, by the message's id. `numbers`: running numbers, by the
 * message's id. `after`: the messages that follow `messages`. Terms in them count as used, too.
 */
export function* renderTranscript(
  messages: readonly Message[],
  nonce: string,
  resultLength: number,
  {
    listed = new Map(),
    numbers = new Map(),
    after = [],
  }: {
    readonly listed?: ReadonlyMap<string, number>;
    readonly numbers?: ReadonlyMap<string, number> | undefined;
    readonly after?: readonly Message[];
  } = {},
): Work<readonly TranscriptEntry[]> {
  const calls = new Map(messages.flatMap(toolUsesOf).map((use) => [use.id, use]));
  const useAfter = yield* usesIn([...messages, ...after]);
  const once = yield* toldOnce(messages);
  const entries: TranscriptEntry[] = [];
  for (const { start, end } of pairingOf(messages).groups) {
    for (const [index, message] of messages.slice(start, end).entries()) {
      const cut = (text: string, length: number) =>
        cutByUse(text, length, (term) => useAfter(term, start + index));
      const number = textOf(message).length < LONG_REQUEST ? undefined : listed.get(message.id);
      const parts = message.content.flatMap((block) =>
        number !== undefined && block.type === 'text'
          ? []
          : (renderBlock(block, nonce, resultLength, calls, once, cut) ?? []),
      );
      if (number !== undefined) parts.unshift(`(request ${number} of the list)`);
      const label = message.kind === 'synthetic' ? 'injected' : message.role;
      const body = parts.length > 0 ? parts.join('\n') : '(nothing)';
      const at = numbers.get(message.id);
      entries.push({ text: `[${nonce} ${at === undefined ? '' : `r${at} `}${label}]\n${body}`, end });
      yield;
    }
  }
  return entries;
}

/** Makes a mark that depends on all of the content, so that no content can contain it. */
export function* nonceFor(messages: readonly Message[]): Work<string> {
  const texts: string[] = [];
  for (const { content, id } of messages) {
    if (isTimeToRest()) yield;
    texts.push(JSON.stringify(content), id);
  }
  return (yield* digestWork(texts.join(''))).slice(0, 16);
}

/** Removes the mark from a text, in case the text contains it nevertheless. */
export function withoutNonce(text: string, nonce: string): string {
  return text.replaceAll(nonce, '');
}

function renderBlock(
  block: ContentBlock,
  nonce: string,
  resultLength: number,
  calls: ReadonlyMap<string, ToolUseBlock>,
  once: (text: string, cut: (text: string) => string) => string,
  cut: (text: string, length: number) => string,
): string | undefined {
  switch (block.type) {
    case 'text':
      return withoutNonce(block.text, nonce);
    case 'thinking':
      return undefined;
    case 'file':
      return `[${nonce} file ${block.mediaType}] ${withoutNonce(block.filename ?? block.source.type, nonce)}`;
    case 'tool_use':
      return `[${nonce} call ${block.name}] ${withoutNonce(argumentsOf(block, Math.max(ARGUMENT_LENGTH, resultLength), cut), nonce)}`;
    case 'tool_result': {
      const { failed, exitCode } = outcomeOf(block, calls.get(block.toolUseId));
      const whole = textOf([block]);
      const longest = Math.min(resultLength * FAILED_LENGTH, LONGEST_FAILURE);
      const most = failed ? Math.max(resultLength, longest) : resultLength;
      // If data must be cut, it is first rendered as facts, each labeled with its owner.
      const full = whole.length > most ? resultText(block) : whole;
      const shown = withoutNonce(
        once(full, (text) => cut(text, most)),
        nonce,
      );
      const files = block.output.flatMap((part) =>
        part.type === 'file' ? [` (file ${part.mediaType})`] : [],
      );
      // Many tools report a failure as an ordinary result, so without an exit code the outcome is not stated.
      const ended = [failed ? 'failed' : '', exitCode === undefined ? '' : `exit ${exitCode}`];
      const told = [block.toolName, ...ended, `${whole.length} characters`].filter(Boolean).join(', ');
      return `[${nonce} result of ${told}] ${shown}${files.join('')}`;
    }
    case 'opaque':
      return `[${nonce} provider item]`;
  }
}

/** Number of unchanged lines to show before and after a change, and the maximum number of line pairs to compare. */
const AROUND = 1;
const MOST_PAIRS = 40_000;

/** Renders the arguments of a call as JSON, with long texts cut. Shows only the change of an edit. */
function argumentsOf(
  { input }: ToolUseBlock,
  length: number,
  cut: (text: string, length: number) => string,
): string {
  const entries = isObject(input) ? Object.entries(input) : [];
  const change = changeIn(entries, length);
  const shown = change ? Object.fromEntries(entries.filter(([key]) => !change.keys.includes(key))) : input;
  const json = JSON.stringify(mapStrings(shown, (text) => cut(text, length))) ?? '';
  if (change === undefined) return json;
  const lines = changedLines(entries);
  return lines.length <= length ? `${json}\n${lines}` : `${json} ${change.text}`;
}

/** Renders the lines that an edit changes, with one unchanged line before and after each change. */
function changedLines(entries: readonly (readonly [string, JsonValue | undefined])[]): string {
  const { before, after } = editIn(entries) ?? {};
  const [old = [], now = []] = [before, after].map((entry) => entry?.[1].split(LINE_BREAK));
  return diffLines(old, now, AROUND, MOST_PAIRS)
    .map(({ mark, text }) => `${mark || ' '} ${text}`)
    .join('\n');
}

/**
 * Finds where the chunk that begins at `start` ends: after `count` entries or `room` tokens, but never between a tool call
 * and its results unless that batch alone exceeds the room. At least one entry.
 */
export function takeChunk(
  entries: readonly TranscriptEntry[],
  start: number,
  count: number,
  room: number,
  meter: Meter,
): number {
  let end = start;
  let tokens = 0;
  while (end < entries.length) {
    const next = (entries[end] as TranscriptEntry).end;
    const members = entries.slice(end, next);
    const size = members.reduce((sum, { text }) => sum + meter.text(text), 0);
    if (end > start && (end - start >= count || tokens + size > room)) break;
    if (end === start && size > room) return start + 1;
    tokens += size;
    end = next;
  }
  return end;
}

/** Cuts a text in its middle until it has at most `room` tokens. */
export function fitToTokens(text: string, room: number, meter: Meter): string {
  return cutToTokens(text, room, meter, '\n[… cut …]\n');
}
