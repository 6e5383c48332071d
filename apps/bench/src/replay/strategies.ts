import { type CompactionSettings, createCompactor } from '@x/compaction';
import type { Strategy } from '@x/replay';
import { keepTail, maskOutputs, maskThenTail, sendEverything, withCompactor } from '@x/replay';

/** Every strategy by the name of its column. Another variant is another line. */
export const strategies: Readonly<Record<string, Strategy>> = {
  full: sendEverything,
  'tail-20': keepTail(20),
  'mask-5': maskOutputs(5),
  'mask-then-tail': maskThenTail(5, 20),
  ours: ours(),
  'ours-keep-8k': ours({ keep: { tokens: 8_000 } }),
};

/** Our compactor as it comes, unless the settings say otherwise. */
function ours(settings: CompactionSettings = {}): Strategy {
  return withCompactor(({ window, counter }) =>
    createCompactor({ model: null, contextWindow: window, counter, ...settings }),
  );
}
