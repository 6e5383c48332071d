import { type CompactionConfig, createCompactor, parseCompactionConfig } from '@x/compaction';
import { keepTail, maskOutputs, maskThenTail, type Strategy, withCompactor } from '@x/replay';
import { readYaml } from '../../read-input.js';

/** The strategies to compare on recordings. None of them calls a model. */
export const strategies: Readonly<Record<string, Strategy>> = {
  'tail-20': keepTail(20),
  'mask-5': maskOutputs(5),
  'mask-then-tail': maskThenTail(5, 20),
  ours: compactorOf({}),
};

/** Returns a strategy that compacts by these settings, without a summarizer. */
export function compactorOf(settings: CompactionConfig): Strategy {
  return withCompactor(({ window, counter }) =>
    createCompactor({ ...settings, model: null, contextWindow: window, counter }),
  );
}

/**
 * Returns the compactor of a configuration file (JSON or YAML), without a summarizer.
 *
 * @throws {InvalidInputError} naming every invalid field.
 */
export async function fromConfiguration(file: string): Promise<Strategy> {
  const { options } = parseCompactionConfig(await readYaml(file), file);
  const {
    offloadBeforeCompact: _log,
    flushBeforeCompact: _memory,
    recall: _recall,
    compactTool: _tool,
    ...config
  } = options;
  return compactorOf(config);
}
