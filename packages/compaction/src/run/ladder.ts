import type { Message } from '@x/core';
import type { ResolvedCompactionConfig } from '../config/compaction-config.js';
import { redactorFor } from '../conversation/redaction.js';
import { excerptsOf } from '../record/excerpts.js';
import type { Reducer } from '../reducer.js';
import { cutUnseen } from '../reducers/cut-unseen.js';
import { dropOldest } from '../reducers/drop-oldest.js';
import { maskOutputs } from '../reducers/mask-outputs.js';
import { maskSuperseded } from '../reducers/mask-superseded.js';
import { nativeCompaction } from '../reducers/native-compaction.js';
import { previewArgs } from '../reducers/preview-args.js';
import { referenceMedia } from '../reducers/reference-media.js';
import { summarize } from '../reducers/summarize.js';
import { trimSynthetic } from '../reducers/trim-synthetic.js';
import { truncateArgs } from '../reducers/truncate-args.js';

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

  const { memoryTiers, recordShare } = config;
  const reducers: Reducer[] = [cutUnseen()];
  if (strategy !== 'native') {
    // Provider-side compaction and caches want the history as they saw it: no local rewriting there.
    if (config.truncateArgs) reducers.push(truncateArgs(config.truncateArgs));
    if (config.trimSynthetic) reducers.push(trimSynthetic(config.trimSynthetic));
    if (config.previewArgs.mode !== 'off') reducers.push(previewArgs(config.previewArgs));
  }
  const masks = strategy === 'auto' || strategy === 'observation_masking';
  if (masks && config.referenceMedia) reducers.push(referenceMedia(config.referenceMedia));
  if (masks && config.maskSuperseded) {
    const onlyForTokens = strategy === 'auto';
    reducers.push(maskSuperseded({ ...config.maskSuperseded, onlyForTokens }));
  }
  const masking = masks ? maskingOf(config) : [];
  const condensing = condensingOf(config);
  const ledgerFirst = strategy === 'auto' && !written && !memoryTiers && recordShare > 0;
  return [
    ...reducers,
    ...(ledgerFirst ? [...condensing, ...masking] : [...masking, ...condensing]),
    dropOldest(),
  ];
}

function maskingOf(config: ResolvedCompactionConfig): readonly Reducer[] {
  const { strategy, memoryTiers } = config;
  if (!config.maskOutputs) return [];
  const tiers = memoryTiers ? { keepRecentMessages: memoryTiers.hotMessages } : {};
  return [maskOutputs({ ...config.maskOutputs, ...tiers, onlyForTokens: strategy === 'auto' })];
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
    const { maxSummaryTokens, recordShare, userShare, fallback, redact } = config;
    const writing = { summaryPrompt, preserve, instructions, chunks, toolResultMaxLength, truncationRetries };
    reducers.push(
      summarize({
        ...writing,
        maxSummaryTokens,
        recordShare,
        userShare,
        fallback,
        redact,
        ...keep,
        ...saving,
      }),
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
  recordShare,
  redact,
}: Pick<ResolvedCompactionConfig, 'strategy' | 'recordShare' | 'redact'>):
  | ((message: Message) => void)
  | undefined {
  if (typeof strategy !== 'string' || strategy === 'native' || recordShare === 0) return undefined;
  const redactor = redactorFor(redact);
  return (message) => void excerptsOf(message, redactor);
}
