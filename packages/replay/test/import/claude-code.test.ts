import { textOf, toolResultsOf } from '@x/core';
import { expect, it } from 'vitest';
import { importConversation } from '../../src/index.js';

const line = (uuid: string, parentUuid: string | null, type: string, content: unknown, more: object = {}) =>
  JSON.stringify({ uuid, parentUuid, type, sessionId: 's', message: { id: `of-${uuid}`, content }, ...more });

const call = (id: string) => ({ type: 'tool_use', id, name: 'Read', input: {} });
const result = (id: string) => ({ type: 'tool_result', tool_use_id: id, content: `output of ${id}` });

it('keeps the results of parallel calls, which hang beside the branch', () => {
  const answer = { message: { id: 'answer', content: [call('one')] } };
  const { messages } = importConversation(
    [
      line('u', null, 'user', 'go'),
      line('a1', 'u', 'assistant', [], answer),
      line('a2', 'a1', 'assistant', [], { message: { id: 'answer', content: [call('two')] } }),
      line('r1', 'a1', 'user', [result('one')]),
      line('r2', 'a2', 'user', [result('two')]),
      line('a3', 'r2', 'assistant', [{ type: 'text', text: 'done' }]),
    ].join('\n'),
  );
  expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'tool', 'assistant']);
  expect(messages.flatMap((message) => toolResultsOf(message)).map(({ toolUseId }) => toolUseId)).toEqual([
    'one',
    'two',
  ]);
});

it('goes on before a compaction, and leaves out its summary and errors of the API, which it counts', () => {
  const { messages, compactions, unread } = importConversation(
    [
      line('u', null, 'user', 'first'),
      line('a', 'u', 'assistant', [{ type: 'text', text: 'early' }]),
      JSON.stringify({
        uuid: 'b',
        parentUuid: null,
        logicalParentUuid: 'a',
        type: 'system',
        subtype: 'compact_boundary',
        compactMetadata: { trigger: 'auto', preTokens: 150_000 },
      }),
      line('s', 'b', 'user', 'This session is being continued …', { isCompactSummary: true }),
      line('u2', 's', 'user', 'second'),
      line('e', 'u2', 'assistant', [{ type: 'text', text: 'overloaded' }], { isApiErrorMessage: true }),
      line('a2', 'e', 'assistant', [{ type: 'text', text: 'late' }]),
    ].join('\n'),
  );
  expect(messages.map((message) => textOf(message))).toEqual(['first', 'early', 'second', 'late']);
  expect(unread).toEqual({ 'summary of a compaction': 1, 'error of the API': 1 });
  expect(compactions).toEqual([{ beforeIndex: 2, tokensBefore: 150_000 }]);
});

it('says that a call has no result', () => {
  const { messages } = importConversation(
    [line('u', null, 'user', 'go'), line('a', 'u', 'assistant', [call('one')])].join('\n'),
  );
  expect(messages.flatMap((message) => toolResultsOf(message))[0]).toMatchObject({
    toolUseId: 'one',
    isError: true,
  });
});

it('counts messages in rows of types that it does not know', () => {
  const { messages, unread } = importConversation(
    [line('u', null, 'user', 'go'), line('t', 'u', 'tool', 'output')].join('\n'),
  );
  expect([messages.length, unread]).toEqual([1, { 'message in a row of type tool': 1 }]);
});

it('reads rows that have a time and no id', () => {
  const row = (type: string, content: string) =>
    JSON.stringify({ type, timestamp: '2026-01-01T00:00:00Z', message: { content } });
  const { messages, unread } = importConversation(
    [row('user', 'go'), row('assistant', 'done'), row('user', 'thanks')].join('\n'),
  );
  expect([messages.map((message) => textOf(message)), unread]).toEqual([['go', 'done', 'thanks'], {}]);
});
