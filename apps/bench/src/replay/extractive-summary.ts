import type { TokenCounter } from '@x/core';

const CANDIDATE = /[\w@~.#/-]{4,120}/g;
const NAME = /\/|_|\d|[a-z][A-Z]|\.[a-z]{1,4}$/;

/**
 * What stands in for a language model wherever a strategy wants one: the names in a text, those that it says most often
 * first, of at most `maxTokens` tokens. The same for every strategy, and the same in every run.
 */
export function extractiveSummary(text: string, maxTokens: number, counter: TokenCounter): string {
  const counts = new Map<string, number>();
  for (const [candidate] of text.matchAll(CANDIDATE)) {
    const name = candidate.replace(/[./-]+$/, '');
    if (NAME.test(name)) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const chosen: string[] = [];
  let room = maxTokens;
  for (const [name] of [...counts].sort(([, left], [, right]) => right - left)) {
    const tokens = counter.count(` ${name}`);
    if (tokens > room) break;
    room -= tokens;
    chosen.push(name);
  }
  return chosen.length > 0 ? chosen.join(' ') : 'Nothing with a name.';
}
