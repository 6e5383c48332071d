import { computed } from '@preact/signals';
import { addUsage, type Usage } from '@x/core';
import { textOf } from '../../../src/page.js';
import { costOf, duration, exactCount, money, plural, share, shortCount } from '../lib/format.js';
import { blocks, call, compacting, info, transcript } from './session.js';

/** The messages of each whole reply, by the id of its last turn. Compactions and notices can be within a reply. */
export const wholeReplies = computed(() => {
  const found = new Map<string, readonly string[]>();
  let reply: { readonly turn: string; readonly ids: readonly string[] } | undefined;
  for (const block of blocks.value) {
    if (block.type === 'user' && block.message.kind === undefined) reply = undefined;
    if (block.type !== 'agent') continue;
    if (reply) found.delete(reply.turn);
    reply = { turn: block.id, ids: [...(reply?.ids ?? []), ...block.messages.map(({ id }) => id)] };
    found.set(reply.turn, reply.ids);
  }
  return found;
});

const live = computed(() => call.value !== undefined || compacting.value !== undefined);
/** The turn in progress: the last one, or `undefined` if a new one begins. */
export const liveTurnId = computed(() => {
  const last = blocks.value.at(-1);
  return live.value && last?.type === 'agent' ? last.id : undefined;
});
/** Whether a turn begins that has no message yet. */
export const liveTurnBegins = computed(() => live.value && liveTurnId.value === undefined);

/** The last message of the user; empty before the first. */
export const lastQuestion = computed(() => {
  const said = blocks.value.findLast((block) => block.type === 'user' && !block.message.kind);
  return said?.type === 'user' ? textOf(said.message) : '';
});

/** Returns the call whose result is in a message; `undefined` for any other message. */
export function callAnsweredBy(messageId: string): string | undefined {
  return [...transcript.peek().toolRuns].find(([, run]) => run.messageId === messageId)?.[0];
}

/** Returns three lines: rounded figures, exact figures, and the place of the last request. Empty without a model call. */
export function replyInWords(messageIds: readonly string[]): string {
  const { replies } = transcript.value;
  const figures = messageIds.flatMap((id) => replies.get(id) ?? []);
  if (figures.length === 0) return '';
  const usage = figures.reduce((sum, { usage: one }) => (one ? addUsage(sum, one) : sum), {
    inputTokens: 0,
    outputTokens: 0,
  } as Usage);
  const { inputTokens: input, cachedInputTokens: cached = 0, outputTokens: output } = usage;
  const prices = info.value?.model.prices;
  const parts = [
    figures.length > 1 && plural(figures.length, 'model call'),
    `${shortCount(input)} in${cached > 0 ? ` (${share(cached, input)} cached)` : ''}`,
    `${shortCount(output)} out`,
    `${duration(figures.reduce((sum, { durationMs }) => sum + durationMs, 0))} of model time`,
    prices && money(costOf(usage, prices)),
  ];
  const exact = `${exactCount(input)} tokens in, ${exactCount(cached)} of them cached, ${exactCount(output)} out. The time does not include tools.`;
  return `${parts.filter(Boolean).join(' · ')}\n${exact}\n${figures.at(-1)?.place ?? 1}`;
}
