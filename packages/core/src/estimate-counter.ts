import type { TokenCounter } from './token-counter.js';

/** A dependency-free estimate of tokens. */
export const estimateCounter: TokenCounter = {
  name: 'estimate',
  count: (text) => Math.ceil(text.length / 4),
};
