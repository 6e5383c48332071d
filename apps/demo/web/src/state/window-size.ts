import { computed } from '@preact/signals';
import { info } from './info.js';
import { context } from './session.js';

/** Tokens of the model's window, as the last call said, else as configured. */
export const windowSize = computed(() => context.value?.contextWindow ?? info.value?.contextWindow ?? 0);
