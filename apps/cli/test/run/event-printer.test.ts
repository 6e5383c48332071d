import type { AgentEvent } from '@x/core';
import { expect, it } from 'vitest';
import { EventPrinter } from '../../src/terminal/event-printer.js';

/** What is printed for some events. */
function printed(...events: readonly object[]): string {
  let text = '';
  const sink = { write: (part: string) => (text += part) };
  const printer = new EventPrinter({ reply: sink, progress: sink, style: (_format, part) => part });
  for (const event of events) printer.print(event as AgentEvent);
  return text;
}

const call = { id: 'c1', name: 'edit_file', input: { path: 'a.md' } };
const result = (toolUseId: string) => ({
  type: 'tool.result',
  result: {
    toolUseId,
    toolName: 'edit_file',
    output: [{ type: 'text', text: 'for the model' }],
    isError: true,
  },
  durationMs: 3,
});

it('says in words for people that a call was not run, and what the model no longer sees', () => {
  const decided = (decision: string) => ({ type: 'permission.decided', call, decision });
  expect(printed(decided('denied'), { type: 'tool.call', call }, result('c1'), result('c2'))).toMatch(
    /^✗ You denied this call · edit_file .*\n {2}for the model\n {2}failed · 3 ms\n$/,
  );
  expect(printed(decided('superseded'), result('c1'))).toMatch(/^✗ Not run: you said something else · /);
  expect(printed(decided('approved'))).toBe('');
  const rule = { tool: 'edit_file', match: 'a.md' };
  expect(printed({ ...decided('approved'), rule })).toMatch(/^Always allowed: edit_file\(a\.md\) · /);
  expect(printed({ type: 'message.set_aside', messageId: 'm', what: 'an image' })).toBe(
    'The model no longer sees an image: the provider refused it. The log has it.\n',
  );
});

it('shows the first lines of a long change and of a long text of the user, and says how many more there are', () => {
  const lines = Array.from({ length: 300 }, (_, at) => `line ${at}`);
  const written = { id: 'c2', name: 'write_file', input: { path: 'a.md', content: lines.join('\n') } };
  expect(printed({ type: 'tool.call', call: written })).toMatch(
    /^● write_file a\.md\n {2}\+ line 0\n[\s\S]* {2}\+ line 10\n {2}… 289 more lines\n$/,
  );
  let text = '';
  const sink = { write: (part: string) => (text += part) };
  const printer = new EventPrinter({ reply: sink, progress: sink, style: (_format, part) => part });
  printer.said(lines.join('\n'));
  expect(text).toMatch(/^> line 0\n[\s\S]*\nline 11\n {2}… 288 more lines\n$/);
});

it('names the stages of a compaction in words', () => {
  const change = { messagesBefore: 9, messagesAfter: 4, tokensBefore: 9_000, tokensAfter: 2_000 };
  const step = { ...change, stage: 'observation_masking', durationMs: 1 };
  const event = { ...change, type: 'context.compacted', status: 'applied', steps: [step] };
  const automatic = { ...event, reason: 'proactive_budget', stagesUsed: 'summarize' };
  // The request of 9k was never sent.
  expect(printed(automatic)).toMatch(
    /^── Context compacted · summarize · 9 → 4 messages · 2k tokens sent instead of 9k ──\n/,
  );
  expect(printed({ ...event, stagesUsed: 'observation_masking+summarize' })).toBe(
    '── Context compacted · observation masking + summarize · 9 → 4 messages · 9k → 2k tokens ──\n' +
      '   observation masking: 9 → 4 messages · 9k → 2k tokens\n',
  );
});
