import { estimateCounter, type TokenCounter } from '@x/core';

/** What counts tokens when a configuration names no counter. */
export const defaultCounter: TokenCounter = estimateCounter;
