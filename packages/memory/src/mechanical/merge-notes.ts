import { estimateCounter } from '@x/core';
import { bulletsOf, factKey, factKeys } from '../bullets.js';

/** Where bullets go that were merged without a model. Everything else in the file is left as it is. */
const HEADING = '## Noted';
const IMPORTANT = /^(?:preference|decision)\b|\b(?:always|never|must|prefers?|decided|important)\b/i;

interface Candidate {
  readonly text: string;
  readonly order: number;
  readonly tokens: number;
}

/**
 * MEMORY.md with notes merged into it by rule: each fact once, behind what was there, in a section of its own. When the
 * file would have more than `maxTokens`, facts leave that section, the unimportant and old ones first; they remain in the
 * daily notes. What people wrote elsewhere in the file is never touched. The same input gives the same file.
 */
export function mergeNotes(memory: string, lines: readonly string[], maxTokens: number): string {
  const { around, noted } = split(memory);
  const known = factKeys(around.join('\n'));
  const candidates: Candidate[] = [];
  for (const text of [...bulletsOf(noted.join('\n')), ...bulletsOf(lines.map(asBullet).join('\n'))]) {
    const key = factKey(text);
    if (key === '' || known.has(key)) continue;
    known.add(key);
    candidates.push({ text, order: candidates.length, tokens: estimateCounter.count(`- ${text}\n`) });
  }
  const above = around.join('\n').trim();
  const render = (kept: readonly Candidate[]) => {
    const bullets = kept.toSorted((left, right) => left.order - right.order).map(({ text }) => `- ${text}`);
    const section = bullets.length > 0 ? `${HEADING}\n\n${bullets.join('\n')}` : '';
    return `${[above, section].filter(Boolean).join('\n\n')}\n`;
  };
  if (candidates.length === 0 && noted.length === 0) return memory;
  let rest = maxTokens - estimateCounter.count(render([]));
  const kept = candidates.toSorted(byWorth).filter(({ tokens }) => {
    const fits = tokens <= rest;
    if (fits) rest -= tokens;
    return fits;
  });
  // The parts of a text may count for a little less than the whole.
  while (kept.length > 0 && estimateCounter.count(render(kept)) > maxTokens) kept.pop();
  return render(kept);
}

/** The important first, of these the newest. */
function byWorth(left: Candidate, right: Candidate): number {
  const important = Number(IMPORTANT.test(right.text)) - Number(IMPORTANT.test(left.text));
  return important || right.order - left.order;
}

/** A line of a note that is neither a bullet nor continues one is a fact as well; a heading is none. */
function asBullet(line: string): string {
  return /^(?:\s|[-*+•#]\s)/u.test(line) ? line : `- ${line}`;
}

/** The lines of the section, and all others of the file. */
function split(memory: string): { readonly around: readonly string[]; readonly noted: readonly string[] } {
  const around: string[] = [];
  const noted: string[] = [];
  let inside = false;
  for (const line of memory.split('\n')) {
    if (line.trim() === HEADING) inside = true;
    else {
      inside &&= !line.startsWith('#');
      (inside ? noted : around).push(line);
    }
  }
  return { around, noted };
}
