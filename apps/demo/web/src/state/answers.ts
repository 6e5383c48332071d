import { computed } from '@preact/signals';
import { answersOf } from '../lib/blocks.js';
import { entries } from './session.js';

/** Tool results by the id of their call. */
export const answers = computed(() => answersOf(entries.value));
