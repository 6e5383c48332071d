import { type CompactionSettings, createCompactor } from '@x/compaction';
import { type Model, type TokenCounter, textOf } from '@x/core';
import type { Strategy } from '@x/replay';
import { extractiveSummary } from './extractive-summary.js';

export interface CompactorOptions extends Omit<CompactionSettings, 'model'> {
  /** The extractive stand-in writes summaries, as long as it is asked for. Default: nobody does. */
  readonly standIn?: boolean;
}

/** Our compactor as it comes, unless the options say otherwise. */
export function compactorStrategy({ standIn = false, ...options }: CompactorOptions = {}): Strategy {
  return ({ window, counter, system }) => {
    let read = 0;
    const model = standIn ? extractiveModel(counter, (tokens) => (read += tokens)) : null;
    const compactor = createCompactor({ model, contextWindow: window, counter, ...options });
    return async (messages) => {
      read = 0;
      const outcome = await compactor.compact(messages, { reason: 'proactive_budget', system });
      if (outcome.status !== 'applied') return undefined;
      return { messages: outcome.messages, manifest: outcome.manifest, summarizerTokens: read };
    };
  };
}

/** Tokens of the headings. */
const FRAME = 60;

/** Writes the headings that a summary must have, and below them what the stand-in finds. */
function extractiveModel(counter: TokenCounter, onRead: (tokens: number) => void): Model {
  return {
    id: 'stand-in',
    async generate({ system = '', messages, maxOutputTokens = 4_000 }) {
      const prompt = messages.map((message) => textOf(message)).join('\n');
      onRead(counter.count(system) + counter.count(prompt));
      const names = extractiveSummary(prompt, maxOutputTokens - FRAME, counter);
      const text = `## SESSION INTENT\nSee below.\n\n## SUMMARY\n${names}\n\n## ARTIFACTS\nNone.\n\n## NEXT STEPS\nNone.`;
      return { content: [{ type: 'text', text }], finishReason: 'stop' };
    },
  };
}
