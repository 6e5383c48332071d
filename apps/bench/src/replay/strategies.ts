import type { Strategy } from '@x/replay';
import { compactorOf, strategies as compared } from '../../../cli/src/commands/replay/strategies.js';

/** The strategies of `x replay`, and variants of ours, by the name of their row. To add a variant, add a line. */
export const strategies: Readonly<Record<string, Strategy>> = {
  ...compared,
  'ours-keep-8k': compactorOf({ keep: { tokens: 8_000 } }),
};
