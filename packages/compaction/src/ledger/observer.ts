import type { Message } from '@x/core';
import type { ResolvedCompactionConfig } from '../config/compaction-config.js';
import { redactorFor } from '../redaction/redact.js';
import { factsOf } from './facts.js';

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
