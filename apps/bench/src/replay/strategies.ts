import { type CompactionSettings, createCompactor } from '@x/compaction';
import type { Strategy } from '@x/replay';
import { keepTail, maskOutputs, maskThenTail, withCompactor } from '@x/replay';

/** All strategies by the name of their row. To add a variant, add a line. */
export const strategies: Readonly<Record<string, Strategy>> = {
  'tail-20': keepTail(20),
  'mask-5': maskOutputs(5),
  'mask-then-tail': maskThenTail(5, 20),
  ours: ours(),
  'ours-keep-8k': ours({ keep: { tokens: 8_000 } }),
};

/** Returns our compactor with default settings, overridden by `settings`. */
function ours(settings: CompactionSettings = {}): Strategy {
  return withCompactor(({ window, counter }) =>
    createCompactor({ model: null, contextWindow: window, counter, ...settings }),
  );
}
