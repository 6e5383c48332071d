import { countMessages, countTool, estimateCounter, type ToolDefinition } from '@x/core';
import { fingerprints } from './fingerprint.js';
import type { Reductions } from './reductions.js';
import type { SdkMessage } from './sdk-message.js';
import { toMessage } from './to-message.js';

/** A step that is over, as `prepareStep` is told of it. */
export interface FinishedStep {
  readonly usage?: { readonly inputTokens?: number | undefined } | undefined;
}

/** A count that is off by more than this is of something else than the request that was counted. */
const LIMITS = { least: 0.5, most: 4 };

/** Tokens that the provider counted of the last request for each one that is counted here; 1 until it said any. */
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
  const sent = reductions.recall(messages.slice(0, before));
  const ids = fingerprints(sent);
  let counted = countMessages(
    estimateCounter,
    sent.map((message, at) => toMessage(message, ids[at] ?? '')),
  );
  if (system !== undefined) counted += estimateCounter.count(system);
  for (const tool of tools ?? []) counted += countTool(estimateCounter, tool);
  return Math.min(LIMITS.most, Math.max(LIMITS.least, reported / Math.max(1, counted)));
}
