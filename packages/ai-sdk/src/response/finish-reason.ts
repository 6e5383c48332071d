import type { FinishReason } from '@x/core';
import type { FinishReasonLike } from '../language-model.js';

const KNOWN: ReadonlySet<string> = new Set<FinishReason>([
  'stop',
  'tool-calls',
  'length',
  'content-filter',
  'error',
]);

/** The reason in our words. Some servers say `stop` although they call a tool: the call decides. */
export function toFinishReason(reason: FinishReasonLike, callsTool: boolean): FinishReason {
  if (rawFinishReason(reason) === 'refusal') return 'refusal';
  const unified = typeof reason === 'string' ? reason : reason.unified;
  const known = KNOWN.has(unified) ? (unified as FinishReason) : 'other';
  return callsTool && (known === 'stop' || known === 'other') ? 'tool-calls' : known;
}

/** The provider's own word, where the model passes it on. */
export function rawFinishReason(reason: FinishReasonLike): string | undefined {
  return typeof reason === 'string' ? undefined : reason.raw;
}
