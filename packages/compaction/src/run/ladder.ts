import type { Message } from '@x/core';
import type { ResolvedCompactionConfig } from '../config/compaction-config.js';
import { STAGES, type StageName } from '../config/stages.js';
import { redactorFor } from '../conversation/redaction.js';
import { excerptsOf } from '../record/excerpts.js';
import type { Reducer } from '../reducer.js';

/** Room for what no model has seen; the model's own compaction where it offers one, else a summary; the oldest go last. */
const DEFAULT_STAGES: readonly StageName[] = ['cut_unseen', 'native', 'summarize', 'drop_oldest'];

/** Makes the reducers of a configuration, in the order in which they run. */
export function reducersOf(config: ResolvedCompactionConfig): readonly Reducer[] {
  const stages: readonly (StageName | Reducer)[] = config.stages ?? DEFAULT_STAGES;
  return stages.map((stage) => (typeof stage === 'string' ? STAGES[stage](config) : stage));
}

/**
 * Makes the function to call with every message as it comes. It makes the excerpts of a message, which a compaction would
 * else make all at once. `undefined` where no record is written. A second call costs nothing.
 */
export function observerFor(config: ResolvedCompactionConfig): ((message: Message) => void) | undefined {
  const stages: readonly (StageName | Reducer)[] = config.stages ?? DEFAULT_STAGES;
  if (!stages.includes('summarize') || config.summary.record === 0) return undefined;
  const redactor = redactorFor(config.redact);
  return (message) => void excerptsOf(message, redactor);
}
