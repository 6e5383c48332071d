import {
  type CompactionOutcome,
  type CompactOptions,
  type Compactor,
  estimateCounter,
  type Message,
  parseWith,
} from '@x/core';
import { type CompactionConfig, compactionConfigSchema } from './config/compaction-config.js';
import { Meter } from './meter.js';
import { checkRequest } from './run/check-request.js';
import { runCompaction } from './run/compaction-run.js';
import { observerFor, reducersOf } from './run/ladder.js';

/**
 * A compactor that works on plain message lists, with no harness. `model` writes the summaries; without it the record of what
 * happened is the summary, and no model is called. `contextWindow` is the window of the model that reads the conversation: without it the
 * window of `model` counts, else 128 000.
 *
 * `compact` and `plan` throw for what is no conversation (an `InvalidInputError`); whatever else goes wrong is an outcome.
 *
 * @throws {InvalidInputError} naming every unknown key and every combination that cannot work.
 */
export function createCompactor(options: CompactionConfig = {}): Compactor {
  const config = parseWith(compactionConfigSchema, options, 'compaction configuration');
  const meter = new Meter(config.counter ?? estimateCounter);
  const model = config.model ?? undefined;
  const reducers = reducersOf(config);
  const observe = observerFor(config);
  const run = async (
    messages: readonly Message[],
    compactOptions: CompactOptions,
    dryRun: boolean,
  ): Promise<CompactionOutcome> => {
    checkRequest(messages, compactOptions);
    return runCompaction({
      config,
      reducers,
      meter,
      messages,
      options: compactOptions,
      summarizer: model,
      model,
      dryRun,
      observe,
    });
  };
  return {
    compact: (messages, compactOptions = {}) => run(messages, compactOptions, false),
    plan: (messages, compactOptions = {}) => run(messages, compactOptions, true),
  };
}
