import { countMessages, countTool, estimateCounter, type ToolDefinition } from '@x/core';
import { fingerprints } from './fingerprint.js';
import type { Reductions } from './reductions.js';
import type { SdkMessage } from './sdk-message.js';
import { toMessage } from './to-message.js';

/** A step that is over, as `prepareStep` is told of it. */
export interface FinishedStep {
  readonly usage?: { readonly inputTokens?: number | undefined } | undefined;
}

/** A count that is off by more than this is of something else than the messages: of tools that nobody told of, of a cache. */
const [LEAST, MOST_OF_MESSAGES, MOST] = [0.5, 2, 4];

/**
 * Tokens of the provider for each one that is counted here of a conversation; 1 until it said any. What it counted of the last
 * request holds as it is, and tells how it counts what came since.
 */
export function usageRatio(
  reductions: Reductions,
  messages: readonly SdkMessage[],
  steps: readonly FinishedStep[],
  {
    system,
    tools,
  }: { readonly system?: string | undefined; readonly tools?: readonly ToolDefinition[] | undefined },
): number {
  const reported = steps.at(-1)?.usage?.inputTokens;
  // What the step was sent ends where its answer begins.
  const before = messages.findLastIndex(({ role }) => role === 'assistant');
  if (reported === undefined || reported === 0 || before <= 0) return 1;
  const count = (some: readonly SdkMessage[], ids = fingerprints(some)) =>
    countMessages(
      estimateCounter,
      some.map((message, at) => toMessage(message, ids[at] ?? '')),
    );
  let sent = count(reductions.recall(messages.slice(0, before)));
  if (system !== undefined) sent += estimateCounter.count(system);
  for (const tool of tools ?? []) sent += countTool(estimateCounter, tool);
  const added = count(messages.slice(before), fingerprints(messages).slice(before));
  const came = added * within(reported / Math.max(1, sent), MOST_OF_MESSAGES);
  return within((reported + came) / Math.max(1, sent + added), MOST);
}

function within(ratio: number, most: number): number {
  return Math.min(most, Math.max(LEAST, ratio));
}
