import type { AgentEvent } from '@x/core';
import { expect, it } from 'vitest';
import { EventPrinter } from '../../src/terminal/event-printer.js';

/** What is printed for some events. */
function printed(...events: readonly object[]): string {
  return printedBy(() => {}, ...events);
}

/** What is printed for some events by a printer that is prepared first. */
function printedBy(prepare: (printer: EventPrinter) => void, ...events: readonly object[]): string {
  let text = '';
  const sink = { write: (part: string) => (text += part) };
  const printer = new EventPrinter({ reply: sink, progress: sink, style: (_format, part) => part });
  prepare(printer);
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
  expect(printed({ ...result('c1'), durationMs: 61_234 })).toContain('failed · 61.2 s\n');
  expect(printed(decided('superseded'), result('c1'))).toMatch(/^✗ Not run: you sent a message instead · /);
  expect(printed(decided('approved'))).toBe('');
  const rule = { tool: 'edit_file', match: 'a.md' };
  expect(printed({ ...decided('approved'), rule })).toMatch(/^Always allowed: edit_file\(a\.md\) · /);
  expect(printed({ type: 'message.set_aside', messageId: 'm', what: 'an image' })).toBe(
    'The model no longer sees an image: the provider refused it. The log still contains it.\n',
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

it('names the stages of a compaction in words, with one set of numbers', () => {
  const change = { messagesBefore: 9, messagesAfter: 4, tokensBefore: 9_000, tokensAfter: 2_000 };
  const step = { ...change, stage: 'observation_masking', durationMs: 1 };
  const noted = { ...step, stage: 'summarize', note: 'the record alone is the summary' };
  const event = { ...change, type: 'context.compacted', status: 'applied', steps: [step, noted] };
  const automatic = { ...event, reason: 'proactive_budget', stagesUsed: 'summarize' };
  // The request of 9k was never sent.
  expect(printed(automatic)).toMatch(
    /^── Context compacted · summarize · 9 → 4 messages · 2k tokens sent instead of 9k ──\n/,
  );
  expect(printed({ ...event, stagesUsed: 'observation_masking+summarize' })).toBe(
    '── Context compacted · observation masking + summarize · 9 → 4 messages · 9k → 2k tokens ──\n' +
      '   summarize: the record alone is the summary\n',
  );
});

it('says that a text broke off only if the text was shown', () => {
  const discarded = (text: string) => ({ type: 'draft.discarded', text });
  expect(printed(discarded('Half an'))).toBe('The answer above was interrupted.\n');
  expect(printed(discarded(''), discarded(' \n\n'))).toBe('');
});

it('shows the change of a call once: with the question, or when the call starts', () => {
  const change = { ...call, input: { path: 'a.md', oldText: 'one', newText: 'two' } };
  const event = { type: 'tool.call', call: change };
  expect(printed(event)).toBe('● edit_file a.md\n  - one\n  + two\n');
  expect(printedBy((printer) => printer.asked('c1'), event)).toBe('● edit_file a.md\n');
});

it('cuts long lines of results between words, and marks the cut', () => {
  const output = [{ type: 'text', text: `${'several words '.repeat(30)}\nshort` }];
  const [first = '', second] = printed({ ...result('c3'), result: { ...result('c3').result, output } }).split(
    '\n',
  );
  expect(first).toMatch(/^ {2}(?:several words )+(?:several )?…$/);
  expect(first.length).toBeLessThanOrEqual(164);
  expect(second).toBe('  short');
});

it('prints the error of a model once, and each attempt with its wait', () => {
  const retrying = (error: string) => ({ type: 'model.retrying', attempt: 1, delayMs: 445, error });
  const started = { type: 'model.started', context: {} };
  const [down, busy] = [retrying('It is down.'), retrying('It is busy.')];
  const once = 'It is down.\nTrying again (attempt 2) in 0.4 s.\n';
  expect(printed(started, down, { ...down, attempt: 6, delayMs: 12_000 })).toBe(
    `${once}Trying again (attempt 7) in 12.0 s.\n`,
  );
  expect(printed(started, down, busy)).toBe(`${once}It is busy.\nTrying again (attempt 2) in 0.4 s.\n`);
  expect(printed(started, down, started, down)).toBe(`${once}${once}`);
});

it('prints no numbers for an answer whose usage is unknown', () => {
  const usage = { inputTokens: 0, outputTokens: 0 };
  expect(printed({ type: 'call.completed', stopReason: 'interrupted', usage })).toBe('interrupted\n');
});

it('counts the whole reply when a decision divides it, and no other', () => {
  const started = (resumed: boolean) => ({ type: 'call.started', callId: 'c', resumed });
  const completed = (stopReason: string, inputTokens: number) => ({
    type: 'call.completed',
    stopReason,
    usage: { inputTokens, outputTokens: 1 },
  });
  const waits = [started(false), completed('permission_required', 100)];
  expect(printed(...waits, started(true), completed('interrupted', 20))).toMatch(/^120 tokens in · 2 out/);
  expect(printed(...waits, started(false), completed('interrupted', 20))).toMatch(/^20 tokens in · 1 out/);
  const again = [started(true), completed('interrupted', 3)];
  expect(printed(...waits, started(true), completed('interrupted', 20), ...again)).toMatch(
    /\n3 tokens in · 1 out/,
  );
});

it('adds up what compactions saved before and after a decision', () => {
  const completed = (stopReason: string, compaction: object) => ({
    type: 'call.completed',
    stopReason,
    usage: { inputTokens: 1, outputTokens: 1 },
    compaction: { modelCalls: 0, inputTokens: 0, outputTokens: 0, savedTokens: 8_700, ...compaction },
  });
  const first = completed('permission_required', {});
  expect(printed(first, completed('interrupted', {}))).toMatch(
    / · compaction: saved 17.4k tokens · interrupted\n/,
  );
  const paid = completed('interrupted', { modelCalls: 1, inputTokens: 900, outputTokens: 100, cost: 0.5 });
  expect(printed(first, paid)).toContain(
    'compaction: 1 model call of 1k tokens, cost 0.50, saved 17.4k tokens',
  );
});
