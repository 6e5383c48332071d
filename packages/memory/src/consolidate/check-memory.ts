import { estimateCounter } from '@x/core';
import type { Checked } from '../ask-model.js';
import { bulletText, factKey } from '../bullets.js';
import { NO_CHANGE } from './consolidation-prompt.js';

/** A file that loses more than this share of itself for no reason was not merged but forgotten. */
const MOST_LOST = 0.5;
/** Tokens below which a file may be rewritten as a whole. */
const SMALL = 100;

/**
 * A model's answer as the new MEMORY.md, or why it is none: blank, larger than it may be, much smaller than it was
 * although there was room, or prose in place of a file.
 */
export function checkMemory(answer: string, before: string, maxTokens: number): Checked<string> {
  const tooMany = (tokens: number) =>
    `has about ${tokens} tokens, ${tokens - maxTokens} more than the ${maxTokens} allowed`;
  if (answer === NO_CHANGE) {
    const size = estimateCounter.count(before);
    return size > maxTokens
      ? { refused: `the file as it is ${tooMany(size)}: shorten it` }
      : { value: before };
  }
  if (answer === '') return { refused: 'it is blank' };
  if (!answer.split('\n').some((line) => /^\s*(?:#|[-*+•]\s)/.test(line))) {
    return { refused: 'it is no Markdown file with headings or bullets' };
  }
  const text = `${withoutRepeats(answer)}\n`;
  const tokens = estimateCounter.count(text);
  if (tokens > maxTokens) return { refused: `it ${tooMany(tokens)}` };
  const tokensBefore = Math.min(maxTokens, estimateCounter.count(before.trim()));
  if (tokensBefore > SMALL && tokens < tokensBefore * (1 - MOST_LOST)) {
    return { refused: `it drops most of the file: about ${tokens} tokens of ${tokensBefore} are left` };
  }
  return { value: text };
}

/** The file without bullets that repeat one of the same section. */
function withoutRepeats(text: string): string {
  let seen = new Set<string>();
  const lines = text.split('\n').filter((line) => {
    if (line.startsWith('#')) seen = new Set();
    // What is indented belongs to what stands above it.
    const bullet = /^\s/.test(line) ? undefined : bulletText(line);
    if (bullet === undefined) return true;
    const key = factKey(bullet);
    return !seen.has(key) && seen.add(key);
  });
  return lines.join('\n');
}
