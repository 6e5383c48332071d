import { headOf } from '@x/core';

// A full stop inside a name or a number ends nothing.
const SENTENCE_END = /(?<=[.!?])\s+|(?<=[。！？])|\n+/u;
const DECORATION = /^(?:[-*•#>\s]|\d+[.)]\s)+|\*\*/g;
const DECISION =
  /\b(?:decided|decision|going with|chose|choose|opted|instead of|rather than|root cause|the (?:problem|issue|bug|cause) (?:is|was)|turns out|must not|should not|won't)\b/i;
const LENGTH = 200;
const MOST = 3;

/** Sentences of the model that state a decision or a finding, a few at most. */
export function decisionsIn(text: string): readonly string[] {
  // Few texts state any, and those that do not are told at once.
  if (!DECISION.test(text.replaceAll('**', ''))) return [];
  const found: string[] = [];
  for (const sentence of text.split(SENTENCE_END)) {
    const trimmed = sentence.replaceAll(DECORATION, '').trim();
    if (trimmed.length < 20 || !DECISION.test(trimmed)) continue;
    found.push(headOf(trimmed, LENGTH));
    if (found.length === MOST) break;
  }
  return found;
}
