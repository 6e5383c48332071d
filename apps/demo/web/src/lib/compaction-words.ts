import type { ManifestEntry } from '@x/core';
import type { CompactionRecord } from '../../../src/server/transcript.js';
import { exactCount, plural, shortCount } from './format.js';

const heads: Readonly<Record<CompactionRecord['status'], string>> = {
  applied: 'Context compacted',
  ineffective: 'Compaction had no effect',
  skipped: 'Compaction skipped',
  failed: 'Compaction failed',
  aborted: 'Compaction stopped',
};

/** What a compaction did, in a few words each: what happened, messages, tokens, how. */
export function compactionTitle(compaction: CompactionRecord): readonly [string, ...string[]] {
  const { status, messagesBefore, messagesAfter, tokensBefore, tokensAfter, strategyUsed } = compaction;
  if (compaction.undone) return ['Compaction undone', plural(messagesBefore, 'message'), strategyUsed];
  if (status !== 'applied')
    return [heads[status], 'nothing was changed', strategyUsed].filter(Boolean) as [string];
  const messages =
    messagesBefore === messagesAfter
      ? plural(messagesBefore, 'message')
      : `${exactCount(messagesBefore)} → ${plural(messagesAfter, 'message')}`;
  return [
    heads.applied,
    messages,
    `${shortCount(tokensBefore)} → ${shortCount(tokensAfter)} tokens`,
    strategyUsed,
  ];
}

export const reasons: Readonly<Record<CompactionRecord['reason'], string>> = {
  proactive_budget: 'The window was nearly full',
  request_too_large: 'The provider refused the request as too large',
  manual: 'You asked for it',
};

/** What became of messages: `12 summarised, 3 masked`. */
export function fatesInWords(manifest: readonly ManifestEntry[]): string {
  const counts = new Map<string, number>();
  for (const { fate } of manifest) counts.set(fate, (counts.get(fate) ?? 0) + 1);
  return [...counts].map(([fate, count]) => `${exactCount(count)} ${fate}`).join(', ');
}
