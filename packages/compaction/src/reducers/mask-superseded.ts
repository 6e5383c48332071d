import {
  headOf,
  isObject,
  type JsonValue,
  type Message,
  parseWith,
  type ToolResultBlock,
  type ToolUseBlock,
  toolResultsOf,
  toolUsesOf,
} from '@x/core';
import * as z from 'zod';
import { maskSupersededSchema } from '../config/stage-schemas.js';
import { marksOf, stringsIn } from '../conversation/marks.js';
import { startOfLive } from '../conversation/regions.js';
import {
  type CommandOutcome,
  commandOf,
  effectOf,
  outcomeOf,
  pathOf,
  rangeOf,
} from '../conversation/tool-calls.js';
import { evictedPath } from '../eviction/evict-text.js';
import { type Reducer, unchanged } from '../reducer.js';
import { alterMessages, ifWorthwhile } from './alter-messages.js';
import { matchesTool, toolsThat } from './select-tools.js';
import { fullText, placesIn } from './stubs.js';

const optionsSchema = maskSupersededSchema.extend({
  /** Leave outputs alone while only the number of messages is over: stubs cannot change that. */
  onlyForTokens: z.boolean().default(false),
});

/** Arguments that say nothing about what comes back. */
const IRRELEVANT = new Set(['description', 'explanation', 'timeout']);
const SUBJECT_LENGTH = 200;

interface Output {
  readonly index: number;
  readonly message: Message;
  readonly block: ToolResultBlock;
  readonly call: ToolUseBlock;
  readonly outcome: CommandOutcome;
  /** The same for calls whose outputs replace each other. */
  readonly key: string;
}

/**
 * Replaces an output when a newer one makes it redundant: the same part of the same file was read again. The newer reading
 * must not fail where the older one succeeded. Outputs of commands and queries stay: each holds for its time. The stub names
 * the newer call and the place of the full text. Errors stay, and so do outputs that the model has not seen yet.
 */
export function maskSuperseded(options: z.input<typeof optionsSchema> = {}): Reducer {
  const settings = parseWith(optionsSchema, options, 'maskSuperseded options');
  return {
    name: 'mask_superseded',
    cost: 'free',
    async reduce(view, budget, context) {
      if (settings.onlyForTokens && !budget.forced && view.tokens <= budget.enoughTokens) {
        return unchanged(view, 'the tokens fit, and stubs leave the number of messages as it is');
      }
      const readOnly = toolsThat('readOnly', context.tools);
      const placeOf = placesIn(view.messages, context);
      const stubs = stubsFor(view.messages, settings.excludeTools, readOnly, placeOf);
      const alteration = alterMessages(view.messages, 'superseded', context, (message) => {
        const own = stubs.get(message);
        return own && replaced(message, own);
      });
      return ifWorthwhile(view, budget, alteration);
    },
  };
}

/** The texts that stand for superseded outputs. */
function stubsFor(
  messages: readonly Message[],
  excludeTools: readonly string[],
  readOnly: ReadonlySet<string>,
  placeOf: (message: Message) => string | undefined,
): ReadonlyMap<Message, ReadonlyMap<ToolResultBlock, string>> {
  const outputs = outputsOf(messages, readOnly).filter(
    ({ block }) => !matchesTool(excludeTools, block.toolName),
  );
  const newest = new Map(outputs.map((output) => [output.key, output]));
  const newestSuccess = new Map(
    outputs.filter(({ outcome }) => !outcome.failed).map((output) => [output.key, output]),
  );
  const live = startOfLive(messages);
  const stubs = new Map<Message, Map<ToolResultBlock, string>>();
  for (const output of outputs) {
    // An output of a call that went well is worth more than a later failure.
    const newer = (output.outcome.failed ? newest : newestSuccess).get(output.key);
    if (!newer || newer === output || output.index >= live) continue;
    const text = stubOf(output, newer, placeOf(output.message));
    if (text.length >= lengthOf(output.block)) continue;
    stubs.set(output.message, (stubs.get(output.message) ?? new Map()).set(output.block, text));
  }
  return stubs;
}

/** Outputs of reads and commands that are still whole and no errors, oldest first. */
function outputsOf(messages: readonly Message[], readOnly: ReadonlySet<string>): readonly Output[] {
  const calls = new Map<string, ToolUseBlock>();
  const outputs: Output[] = [];
  messages.forEach((message, index) => {
    for (const call of toolUsesOf(message)) calls.set(call.id, call);
    const masked = stringsIn(marksOf(message).masked);
    for (const block of toolResultsOf(message)) {
      const call = calls.get(block.toolUseId);
      const key = call && keyOf(call, readOnly);
      if (key === undefined || block.isError || masked.includes(block.toolUseId)) continue;
      outputs.push({ index, message, block, call: call as ToolUseBlock, outcome: outcomeOf(block), key });
    }
  });
  return outputs;
}

function keyOf(call: ToolUseBlock, readOnly: ReadonlySet<string>): string | undefined {
  const command = commandOf(call);
  // What a command or a query printed before something changed says what was: only a file is the same thing read again.
  const reads = readOnly.has(call.name) || effectOf(call.name, command !== undefined) === 'read';
  if (!reads || pathOf(call) === undefined) return undefined;
  return `${call.name} ${JSON.stringify(sorted(call.input))}`;
}

function sorted(input: JsonValue): JsonValue {
  if (!isObject(input)) return input;
  const entries = Object.entries(input).filter(([key]) => !IRRELEVANT.has(key));
  return entries.sort(([left], [right]) => (left < right ? -1 : 1)).map(([key, value]) => [key, value]);
}

function stubOf({ block, call, outcome }: Output, newer: Output, place: string | undefined): string {
  const target = commandOf(call) ?? pathOf(call) ?? '';
  const named = headOf(`${call.name} ${target.replaceAll(/\s+/g, ' ')}`.trim(), SUBJECT_LENGTH);
  const subject = [named, rangeOf(call)].filter(Boolean).join(' ');
  const how = outcome.exitCode === undefined ? '' : ` with exit ${outcome.exitCode}`;
  const status = outcome.failed ? `failed${how}` : 'ok';
  const evicted = evictedPath(block);
  const where = fullText(evicted ? `read_file ${evicted}` : place);
  return `[${subject} → ${status}; superseded by the newer call ${newer.call.id}${where}]`;
}

function lengthOf({ output }: ToolResultBlock): number {
  return output.reduce(
    (length, part) => (part.type === 'text' ? length + part.text.length : Number.POSITIVE_INFINITY),
    0,
  );
}

function replaced(message: Message, stubs: ReadonlyMap<ToolResultBlock, string>) {
  const masked = [...stringsIn(marksOf(message).masked)];
  const content = message.content.map((block) => {
    const text = block.type === 'tool_result' ? stubs.get(block) : undefined;
    if (block.type !== 'tool_result' || text === undefined) return block;
    masked.push(block.toolUseId);
    return { ...block, output: [{ type: 'text' as const, text }] };
  });
  // The mark of masking: a stub is not masked once more.
  return { content, marks: { masked } };
}
