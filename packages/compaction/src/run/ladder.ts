import type { Message } from '@x/core';
import type { ResolvedCompactionConfig } from '../config/compaction-config.js';
import { redactorFor } from '../conversation/redaction.js';
import { factsOf } from '../ledger/facts.js';
import type { Reducer } from '../reducer.js';
import { dropOldest } from '../reducers/drop-oldest.js';
import { maskObservations } from '../reducers/mask-observations.js';
import { nativeCompaction } from '../reducers/native-compaction.js';
import { pruneToolCalls } from '../reducers/prune-tool-calls.js';
import { referenceMedia } from '../reducers/reference-media.js';
import { summarize } from '../reducers/summarize.js';
import { supersededOutputs } from '../reducers/superseded-outputs.js';
import { trimSynthetic } from '../reducers/trim-synthetic.js';
import { truncateToolArgs } from '../reducers/truncate-tool-args.js';

/**
 * The reducers of a configuration, in the order in which they run: free ones first. Masking comes before a summary that a
 * model writes, because it may spare the call. Where the ledger alone is the summary, that is as cheap, leaves the newest
 * outputs readable, and saves more at once, so that reductions are rarer and provider caches last: there masking
 * comes behind it, for what is still too large.
 *
 * @param written Whether a model writes the summaries.
 */
export function reducersOf(config: ResolvedCompactionConfig, written: boolean): readonly Reducer[] {
  const { strategy } = config;
  if (typeof strategy !== 'string') return strategy;

  const { memoryTiers, truncateArgs, syntheticTrim, prune, ledgerTokens } = config;
  const reducers: Reducer[] = [];
  if (strategy !== 'native') {
    // Provider-side compaction and caches want the history as they saw it: no local rewriting there.
    if (truncateArgs) reducers.push(truncateToolArgs(truncateArgs));
    if (syntheticTrim) reducers.push(trimSynthetic(syntheticTrim));
    if (prune.mode !== 'off') reducers.push(pruneToolCalls(prune));
  }
  const masks = strategy === 'auto' || strategy === 'observation_masking';
  if (masks && config.media) reducers.push(referenceMedia(config.media));
  if (masks && config.supersededOutputs) {
    const onlyForTokens = strategy === 'auto';
    reducers.push(supersededOutputs({ ...config.supersededOutputs, onlyForTokens }));
  }
  const masking = masks ? maskingOf(config) : [];
  const condensing = condensingOf(config);
  const ledgerFirst = strategy === 'auto' && !written && !memoryTiers && ledgerTokens > 0;
  return [
    ...reducers,
    ...(ledgerFirst ? [...condensing, ...masking] : [...masking, ...condensing]),
    dropOldest(),
  ];
}

function maskingOf({
  strategy,
  memoryTiers,
  observationMasking,
}: ResolvedCompactionConfig): readonly Reducer[] {
  if (!observationMasking) return [];
  const tiers = memoryTiers ? { keepRecentMessages: memoryTiers.hotMessages } : {};
  return [maskObservations({ ...observationMasking, ...tiers, onlyForTokens: strategy === 'auto' })];
}

function condensingOf(config: ResolvedCompactionConfig): readonly Reducer[] {
  const { strategy, memoryTiers, minSavingPercent, minSavingTokens } = config;
  const keep = memoryTiers
    ? { keepMessages: memoryTiers.hotMessages + memoryTiers.warmMessages, keepTokens: 0 }
    : { keepMessages: config.keepMessages, keepTokens: config.keepTokens };
  const saving = { minSavingPercent, minSavingTokens };
  const reducers: Reducer[] = [];
  if (strategy === 'auto' || strategy === 'native') reducers.push(nativeCompaction({ ...keep, ...saving }));
  if (strategy !== 'observation_masking') {
    const { summaryPrompt, preserve, instructions, chunks, toolResultMaxLength, truncationRetries } = config;
    const { maxSummaryTokens, ledgerTokens, fallback, redact } = config;
    const writing = { summaryPrompt, preserve, instructions, chunks, toolResultMaxLength, truncationRetries };
    reducers.push(
      summarize({ ...writing, maxSummaryTokens, ledgerTokens, fallback, redact, ...keep, ...saving }),
    );
  }
  return reducers;
}

/**
 * What is to be called with every message as it comes, so that its facts are known when a compaction folds them into a
 * ledger, and need not be extracted all at once. `undefined` where no ledger is kept. A second call costs nothing.
 */
export function observerFor({
  strategy,
  ledgerTokens,
  redact,
}: Pick<ResolvedCompactionConfig, 'strategy' | 'ledgerTokens' | 'redact'>):
  | ((message: Message) => void)
  | undefined {
  if (typeof strategy !== 'string' || strategy === 'native' || ledgerTokens === 0) return undefined;
  const redactor = redactorFor(redact);
  return (message) => void factsOf(message, redactor);
}
