import type { Issue } from '@x/core';
import type { ResolvedCompactionConfig } from './compaction-config.js';

/**
 * Finds what would be due again at once, could never run, or says two things. What was not written contradicts nothing.
 *
 * @param named The name of a key as the user writes it.
 */
export function contradictionsIn(
  config: ResolvedCompactionConfig,
  named: (path: string) => string,
): readonly Issue[] {
  const { trigger, target, keep, summary, contextWindow, model } = config;
  const issues: Issue[] = [];
  /** Refuses a size that is no smaller than the one that it must stay below. */
  const below = (path: string, size: number | undefined, otherPath: string, other: number | undefined) => {
    if (size === undefined || !other || size < other) return;
    issues.push({ path, message: `${size} must be below ${named(otherPath)} ${other}` });
  };
  below('keep.messages', keep.messages, 'trigger.messages', trigger.messages);
  below('keep.tokens', keep.tokens, 'trigger.tokens', trigger.tokens);
  below('keep.tokens', keep.tokens, 'contextWindow', contextWindow);
  if (typeof target === 'number') below('keep.share', keep.share, 'target', target);
  if (typeof target === 'object') {
    below('target.tokens', target.tokens, 'trigger.tokens', trigger.tokens);
    below('target.tokens', target.tokens, 'contextWindow', contextWindow);
    below('keep.tokens', keep.tokens, 'target.tokens', target.tokens);
  }
  if (contextWindow !== undefined && (trigger.tokens ?? 0) > contextWindow) {
    const message = `${trigger.tokens} exceeds contextWindow ${contextWindow}`;
    issues.push({ path: 'trigger.tokens', message });
  }
  if (model !== null) return issues;
  for (const key of ['prompt', 'instructions'] as const) {
    if (summary[key] === undefined) continue;
    issues.push({ path: `summary.${key}`, message: 'tells a model how to write, although model is null' });
  }
  if (summary.record === 0 && config.stages === undefined) {
    issues.push({ path: 'summary.record', message: 'is 0 although model is null: nothing would be written' });
  }
  return issues;
}
