import { computed } from '@preact/signals';
import { type Block, blocksOf } from '../lib/blocks.js';
import { call, compacting, entries } from './session.js';

let drawn: readonly Block[] = [];

/** The conversation as blocks; one that did not change stays the same object. */
export const blocks = computed(() => {
  drawn = blocksOf(entries.value, drawn);
  return drawn;
});

/** Whether something is being written or done right now. */
const live = computed(() => call.value !== undefined || compacting.value !== undefined);

/** The turn in which it is: the last one, or `undefined` when a new one begins. */
export const liveTurnId = computed(() => {
  const last = blocks.value.at(-1);
  return live.value && last?.type === 'agent' ? last.id : undefined;
});

/** Whether a turn begins that has no message yet. */
export const liveTurnBegins = computed(() => live.value && liveTurnId.value === undefined);
