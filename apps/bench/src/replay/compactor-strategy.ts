import { type CompactionConfig, createCompactor } from '@x/compaction';
import { type Model, type TokenCounter, textOf } from '@x/core';
import type { Strategy } from '@x/replay';
import { extractiveSummary } from './extractive-summary.js';

export interface CompactorOptions extends Omit<CompactionConfig, 'model'> {
  /** When given, the extractive stand-in writes summaries of at most so many tokens; otherwise nobody does. */
  readonly summaryTokens?: number;
}

/** Our compactor, due at 85 % of the window and by nothing else unless the options say otherwise. */
export function compactorStrategy({ summaryTokens, ...options }: CompactorOptions = {}): Strategy {
  return ({ window, counter, system }) => {
    let read = 0;
    const model =
      summaryTokens === undefined ? null : standIn(summaryTokens, counter, (tokens) => (read += tokens));
    const compactor = createCompactor({
      model,
      contextWindow: window,
      counter,
      budgetPercent: 0.85,
      triggerMessages: 0,
      triggerTokens: 0,
      ...options,
    });
    return async (messages) => {
      read = 0;
      const outcome = await compactor.compact(messages, { reason: 'proactive_budget', system });
      if (outcome.status !== 'applied') return undefined;
      return { messages: outcome.messages, manifest: outcome.manifest, summarizerTokens: read };
    };
  };
}

/** Writes the headings that a summary must have, and below them what the stand-in finds. */
function standIn(maxTokens: number, counter: TokenCounter, onRead: (tokens: number) => void): Model {
  return {
    id: 'stand-in',
    async generate({ system = '', messages }) {
      const prompt = messages.map((message) => textOf(message)).join('\n');
      onRead(counter.count(system) + counter.count(prompt));
      const names = extractiveSummary(prompt, maxTokens, counter);
      const text = `## SESSION INTENT\nSee below.\n\n## SUMMARY\n${names}\n\n## ARTIFACTS\nNone.\n\n## NEXT STEPS\nNone.`;
      return { content: [{ type: 'text', text }], finishReason: 'stop' };
    },
  };
}
