import { type ModelResponse, textOf } from '@x/core';

/** A summariser's answer, judged. */
export type Verdict =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly problem: string };

/** Accepts only an answer that ended by itself, says something, calls no tool and has its headings. */
export function checkAnswer(response: ModelResponse, headings: readonly string[]): Verdict {
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
  return { ok: true, text };
}

/** A line of its own, however it is decorated: `## SUMMARY`, `**Summary:**`. */
function hasHeading(text: string, heading: string): boolean {
  return text.split('\n').some((line) => {
    const bare = line.replaceAll(/[#*_:`\s]+/g, ' ').trim();
    return bare.toUpperCase() === heading;
  });
}
