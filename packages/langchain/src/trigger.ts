import type { BaseMessage } from '@langchain/core/messages';
import { type CompactionReason, countMessages, estimateCounter, InvalidInputError } from '@x/core';
import type { MiddlewareSize } from './middleware-options.js';
import type { ResolvedSettings } from './settings.js';
import { toMessage } from './to-message.js';

/**
 * Why a conversation is to be reduced now: `manual` when all sizes of a condition are reached, and `proactive_budget`
 * when so little is there that all of it would be kept: then only a window that is nearly full is a reason.
 *
 * @throws {InvalidInputError} for a fraction of a window that nobody knows.
 */
export async function reasonFor(
  { trigger, keep, window, tokenCounter, options }: ResolvedSettings,
  sources: readonly BaseMessage[],
): Promise<CompactionReason | undefined> {
  if (trigger === undefined) return options.compat === false ? 'proactive_budget' : undefined;
  let counted: number | undefined;
  const reaches = async (size: MiddlewareSize, count: number): Promise<boolean> => {
    const needed = tokensOf(size, window);
    if (size.messages !== undefined && count < size.messages) return false;
    if (needed === undefined) return true;
    counted ??= tokenCounter
      ? await tokenCounter([...sources])
      : countMessages(estimateCounter, sources.map(toMessage));
    return counted >= needed;
  };
  for (const size of trigger) {
    if (!(await reaches(size, sources.length))) continue;
    return (await reaches(keep, sources.length - 1)) ? 'manual' : 'proactive_budget';
  }
  return undefined;
}

/**
 * Tokens of a size, where it names any; of `tokens` and `fraction` the larger one.
 *
 * @throws {InvalidInputError} for a fraction of a window that nobody knows.
 */
export function tokensOf(size: MiddlewareSize, window: number | undefined): number | undefined {
  const { tokens, fraction } = size;
  if (fraction === undefined) return tokens === undefined ? undefined : Math.floor(tokens);
  if (window === undefined) {
    const message =
      'Model profile information is required to use fractional token limits; pass contextWindow, or absolute sizes';
    throw new InvalidInputError('compactionMiddleware options', [{ path: 'fraction', message }]);
  }
  return Math.max(Math.floor(tokens ?? 0), Math.floor(window * fraction));
}
