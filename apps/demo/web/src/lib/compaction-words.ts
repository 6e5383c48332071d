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

interface CompactionTitle {
  readonly head: string;
  readonly messages?: string;
  readonly tokens?: string;
}

/** What a compaction did, in a few words each. */
export function compactionTitle(compaction: CompactionRecord): CompactionTitle {
  const { status, messagesBefore, messagesAfter, tokensBefore, tokensAfter } = compaction;
  if (compaction.undone) return { head: 'Compaction undone' };
  if (status !== 'applied') return { head: heads[status], messages: 'nothing was changed' };
  const tokens = `${shortCount(tokensBefore)} → ${shortCount(tokensAfter)} tokens`;
  if (messagesBefore === messagesAfter) return { head: heads.applied, tokens };
  const messages = `${exactCount(messagesBefore)} → ${plural(messagesAfter, 'message')}`;
  return { head: heads.applied, messages, tokens };
}

export const reasons: Readonly<Record<CompactionRecord['reason'], string>> = {
  proactive_budget: 'The window was nearly full',
  request_too_large: 'The provider refused the request as too large',
  manual: 'You asked for it',
};

/** What became of messages: `12 summarized, 3 masked`. */
export function fatesInWords(manifest: readonly ManifestEntry[]): string {
  const counts = new Map<string, number>();
  for (const { fate } of manifest) counts.set(fate, (counts.get(fate) ?? 0) + 1);
  return [...counts]
    .sort(([, left], [, right]) => right - left)
    .map(([fate, count]) => `${exactCount(count)} ${fate}`)
    .join(', ');
}
