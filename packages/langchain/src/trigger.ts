import type { BaseMessage } from '@langchain/core/messages';
import { type CompactionReason, InvalidInputError } from '@x/core';
import { overflowFigures } from '@x/core/internal';
import { countTokensApproximately } from 'langchain';
import type { MiddlewareSize } from './middleware-options.js';
import type { ResolvedSettings } from './settings.js';

/** Whether and how to reduce a conversation now. */
export interface Due {
  readonly reason: CompactionReason;
  /** The number of messages, if a condition of `trigger` is met. `undefined`: the compactor's own trigger decides. */
  readonly reached?: number | undefined;
  /** The number of newest messages that stay, according to `keep`. */
  readonly kept: number;
  /** After an overflow: the target of the reduction in tokens, if `keep` leaves room below it. */
  readonly room?: number | undefined;
  /** After an overflow: the window in tokens that the error names. */
  readonly window?: number | undefined;
}

/**
 * Returns whether a trigger is reached, and how many messages stay.
 *
 * @throws {InvalidInputError} for a fraction of an unknown context window.
 */
export async function dueNow(
  settings: ResolvedSettings,
  messages: readonly BaseMessage[],
): Promise<Due | undefined> {
  const { trigger, window, options } = settings;
  const isCompactors = options.compactor !== undefined || options.compaction?.trigger !== undefined;
  if (trigger === undefined && !isCompactors) return undefined;
  for (const size of trigger ?? []) {
    if (size.messages !== undefined && messages.length < size.messages) continue;
    const needed = tokensOf(size, window);
    if (needed !== undefined && (await count(settings, messages)) < needed) continue;
    const kept = await keptMessages(settings, messages);
    if (kept >= messages.length) return { reason: 'proactive_budget', kept };
    return { reason: options.compactor ? 'manual' : 'proactive_budget', reached: messages.length, kept };
  }
  if (trigger !== undefined) return undefined;
  return { reason: 'proactive_budget', kept: await keptMessages(settings, messages) };
}

/**
 * Returns the reductions to try, in order, after the provider has rejected a conversation as too large. If the messages in `keep` are small
 * compared with the rejected request, the first reduction keeps them. Otherwise, or if nothing is left to reduce, fewer stay.
 *
 * @throws {InvalidInputError} for a fraction of an unknown context window.
 */
export async function duesAfterOverflow(
  settings: ResolvedSettings,
  messages: readonly BaseMessage[],
  error: unknown,
): Promise<readonly Due[]> {
  const { contextWindow: window } = overflowFigures(error);
  const kept = await keptMessages(settings, messages);
  const hard = { reason: 'request_too_large', kept, window } as const;
  if (settings.options.compactor === undefined && kept < messages.length) {
    const room = Math.min(await count(settings, messages), window ?? Number.POSITIVE_INFINITY) / 2;
    const staying = kept === 0 ? 0 : await count(settings, messages.slice(-kept));
    const within = { reason: 'proactive_budget', reached: messages.length, kept, room, window } as const;
    if (staying <= room / 2) return [within, hard];
  }
  return [hard];
}

/**
 * Returns how many of the newest messages `keep` keeps, at least one.
 *
 * @throws {InvalidInputError} for a fraction of an unknown context window.
 */
async function keptMessages(settings: ResolvedSettings, messages: readonly BaseMessage[]): Promise<number> {
  const { keep, window } = settings;
  if (keep.messages !== undefined) return keep.messages;
  const room = tokensOf(keep, window) ?? 0;
  let [few, many] = [Math.min(1, messages.length), messages.length];
  while (few < many) {
    const middle = Math.ceil((few + many) / 2);
    if ((await count(settings, messages.slice(-middle))) <= room) few = middle;
    else many = middle - 1;
  }
  return few;
}

async function count({ tokenCounter }: ResolvedSettings, messages: readonly BaseMessage[]): Promise<number> {
  return (tokenCounter ?? countTokensApproximately)([...messages]);
}

/** Returns the tokens of a size, if it has any. If both `tokens` and `fraction` are set, the larger one wins. */
export function tokensOf(
  { tokens, fraction }: MiddlewareSize,
  window: number | undefined,
): number | undefined {
  if (fraction === undefined) return tokens === undefined ? undefined : Math.floor(tokens);
  if (window === undefined) {
    const message =
      'Model profile information is required to use fractional token limits; pass contextWindow, or absolute sizes';
    throw new InvalidInputError('compactionMiddleware options', [{ path: 'fraction', message }]);
  }
  return Math.max(Math.floor(tokens ?? 0), Math.floor(window * fraction));
}
