import { keepTail, maskOutputs, maskThenTail, sendEverything } from './baselines.js';
import { compactorStrategy } from './compactor-strategy.js';
import type { Strategy } from './strategy.js';

/** Every strategy by the name of its column. Another variant is another line. */
export const strategies: Readonly<Record<string, Strategy>> = {
  full: sendEverything,
  'tail-20': keepTail(20),
  'mask-5': maskOutputs(5),
  'mask-then-tail': maskThenTail(5, 20),
  ours: compactorStrategy(),
};
