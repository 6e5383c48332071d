import { type ModelResponse, textOf } from '@x/core';

/** A summarizer's answer, judged. */
export type Verdict =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly problem: string };

/** What an answer must keep to. */
export interface AnswerLimits {
  readonly headings: readonly string[];
  /** In tokens. */
  readonly longest: number;
  count(text: string): number;
}

/** Accepts only an answer that ended by itself, says something, calls no tool, has its headings and is not too long. */
export function checkAnswer(response: ModelResponse, { headings, longest, count }: AnswerLimits): Verdict {
  if (response.content.some((block) => block.type === 'tool_use')) {
    return { ok: false, problem: 'the answer called a tool' };
  }
  if (response.finishReason !== 'stop') {
    return { ok: false, problem: `the answer ended with "${response.finishReason}", not "stop"` };
  }
  const text = textOf(response.content).trim();
  if (text === '') return { ok: false, problem: 'the answer was empty' };
  const missing = headings.filter((heading) => !hasHeading(text, heading));
  if (missing.length > 0) return { ok: false, problem: `the answer lacks ${missing.join(', ')}` };
  const tokens = Math.round(count(text));
  if (tokens > longest)
    return { ok: false, problem: `the answer has ${tokens} tokens, more than ${longest}` };
  return { ok: true, text };
}

/** A line of its own, however it is decorated: `## SUMMARY`, `**Summary:**`. */
function hasHeading(text: string, heading: string): boolean {
  return text.split('\n').some((line) => {
    const bare = line.replaceAll(/[#*_:`\s]+/g, ' ').trim();
    return bare.toUpperCase() === heading;
  });
}
