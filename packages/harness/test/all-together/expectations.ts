import { estimateCounter, type Message, type ModelRequest } from '@x/core';
import { countRequest } from '@x/core/messages';
import type { ScriptedModel } from '@x/testkit';
import { expect } from 'vitest';
import { isPaired } from '../support.js';
import type { Untouched } from './everything.js';

/** What must hold of every request, whatever is installed in whatever order. */
export function expectSound(
  { requests, contextWindow }: Pick<ScriptedModel, 'requests' | 'contextWindow'>,
  compactions: readonly Untouched[],
): void {
  for (const request of requests) {
    expect(countRequest(estimateCounter, request)).toBeLessThanOrEqual(contextWindow ?? 0);
    expect(isPaired(request.messages)).toBe(true);
    const ids = request.messages.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
  }
  for (const { before, after } of compactions) expect(after).toBe(before);
}

/** The requests that a model took: one that came right after an undo may be too large, is refused, and made again. */
export function takenBy({ requests, contextWindow = 0 }: ScriptedModel): readonly ModelRequest[] {
  return requests.filter((request) => countRequest(estimateCounter, request) <= contextWindow);
}

/** Between reductions each request begins with the one before, byte for byte, reminders at its end left out. */
export function expectSticky(requests: readonly ModelRequest[], compactions: readonly Untouched[]): void {
  const rewritten = new Set(compactions.map((compaction) => compaction.requests));
  for (const [index, request] of requests.entries()) {
    const previous = requests[index - 1];
    if (previous === undefined || rewritten.has(index)) continue;
    const earlier = said(previous.messages);
    expect(JSON.stringify(said(request.messages).slice(0, earlier.length))).toBe(JSON.stringify(earlier));
  }
}

function said(messages: readonly Message[]): readonly Message[] {
  return messages.filter(({ kind }) => kind !== 'synthetic');
}
