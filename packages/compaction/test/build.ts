import {
  assistantMessage,
  estimateCounter,
  type JsonValue,
  type Message,
  type ToolUseBlock,
  toolResultMessage,
} from '@x/core';
import { Meter } from '../src/meter.js';
import type { Reduction, ReductionTarget, Stage, StageContext, View } from '../src/stage.js';
import { NarrativeDesk } from '../src/summary/narrative-desk.js';
import { Patience } from '../src/summary/patience.js';

let serial = 0;

export interface RoundOptions {
  readonly name?: string;
  readonly input?: JsonValue;
  readonly output?: string;
  readonly isError?: boolean;
  readonly say?: string;
}

/** The model calls a tool and gets its answer: two messages. */
export function round(options: RoundOptions = {}): [Message, Message] {
  const { name = 'read_file', input = { path: `src/file${serial}.ts` }, output = 'done', say = '' } = options;
  const call: ToolUseBlock = { type: 'tool_use', id: `call${serial++}`, name, input };
  return [
    assistantMessage([{ type: 'text', text: say }, call]),
    toolResultMessage(call, output, { isError: options.isError ?? false }),
  ];
}

/** So many rounds. */
export function rounds(count: number, options: (index: number) => RoundOptions = () => ({})): Message[] {
  return Array.from({ length: count }, (_, index) => round(options(index))).flat();
}

/** Lines of text, each different. */
export function lines(count: number, word = 'line'): string {
  return Array.from({ length: count }, (_, index) => `${word} ${index}`).join('\n');
}

export const meter = new Meter(estimateCounter);

export function viewOf(messages: readonly Message[], fixedTokens = 0): View {
  return { messages, fixedTokens, tokens: fixedTokens + meter.messages(messages) };
}

export function budgetOf(budget: Partial<ReductionTarget> = {}): ReductionTarget {
  return {
    reason: 'manual',
    contextWindow: 32_000,
    dueTokens: 16_000,
    mostTokens: 30_000,
    enoughTokens: 14_000,
    targetTokens: 14_000,
    dueBytes: Number.POSITIVE_INFINITY,
    dueMessages: Number.POSITIVE_INFINITY,
    targetMessages: Number.POSITIVE_INFINITY,
    forced: true,
    early: false,
    ...budget,
  };
}

function contextOf(conversation: readonly Message[], context: Partial<StageContext>): StageContext {
  const work = {
    desk: new NarrativeDesk(),
    patience: new Patience(10_000),
    onUsage: () => {},
    warn: () => {},
  };
  return { meter, dryRun: false, original: (message) => message, work, conversation, ...context };
}

/** Runs a stage by itself. */
export function reduceWith(
  stage: Stage,
  messages: readonly Message[],
  budget: Partial<ReductionTarget> = {},
  context: Partial<StageContext> = {},
): Promise<Reduction> {
  return stage.reduce(viewOf(messages), budgetOf(budget), contextOf(messages, context));
}

/** The item at an index that must be there. */
export function at<Item>(items: readonly Item[], index: number): Item {
  const item = items.at(index);
  if (item === undefined) throw new Error(`there is no item ${index}`);
  return item;
}
