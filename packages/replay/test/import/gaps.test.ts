import { textOf, toolResultsOf, toolUsesOf } from '@x/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { importConversation, repairLog } from '../../src/index.js';

type Row = Record<string, unknown>;

const jsonl = (rows: readonly unknown[]) =>
  rows.map((row) => (typeof row === 'string' ? row : JSON.stringify(row))).join('\n');
const read = (rows: readonly unknown[]) => {
  const { messages, unread, compactions } = importConversation(jsonl(rows));
  return { said: messages.map((message) => textOf(message)), messages, unread, compactions };
};

/** Rows of Claude Code: a question and an answer each turn. */
function claudeCode(turns: number): Row[] {
  return Array.from({ length: 2 * turns }, (_, index) => {
    const type = index % 2 === 0 ? 'user' : 'assistant';
    const text = `${index % 2 === 0 ? 'question' : 'answer'} ${Math.floor(index / 2) + 1}`;
    return {
      type,
      uuid: `u${index}`,
      parentUuid: index === 0 ? null : `u${index - 1}`,
      sessionId: 's',
      isSidechain: false,
      message: {
        role: type,
        content: type === 'user' ? text : [{ type: 'text', text }],
        ...(type === 'assistant' ? { id: `m${index}` } : {}),
      },
    };
  });
}

/** Rows of pi. */
function pi(turns: number): Row[] {
  const rows = claudeCode(turns).map(({ uuid, parentUuid, message }) => {
    const { role, content } = message as Row;
    return { type: 'message', id: uuid, parentId: parentUuid, message: { role, content: [content].flat() } };
  });
  return [{ type: 'session', id: 's' }, ...rows];
}

const uncut = (cuts: readonly number[]) =>
  Array.from({ length: 40 }, (_, row) => row).filter((row) => !cuts.includes(row));

describe.each([
  ['Claude Code', claudeCode],
  ['pi', pi],
] as const)('a log of %s with a gap', (_, talk) => {
  it('loses the row that was cut out and no other', () => {
    const whole = read(talk(20)).said;
    fc.assert(
      fc.property(fc.nat(39), fc.boolean(), (cut, isTorn) => {
        const rows: unknown[] = talk(20);
        const at = rows.length - 40 + cut;
        const torn = JSON.stringify(rows[at]).slice(0, 30);
        rows.splice(at, 1, ...(isTorn ? [torn] : []));
        expect(read(rows).said).toEqual(whole.toSpliced(cut, 1));
      }),
    );
  });

  it('is repaired: no row is out of reach, whatever was lost', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(39), { minLength: 1, maxLength: 4 }), (cuts) => {
        const rows = talk(20);
        const left = [...rows.filter((_, index) => !cuts.includes(index - (rows.length - 40))), rows.at(-1)];
        const { repaired = '', unreachable } = repairLog(jsonl(left));
        expect(unreachable > 0).toBe(cuts.some((cut) => cut < 39 && cut > Math.min(...uncut(cuts))));
        expect(repairLog(repaired)).toMatchObject({ unreachable: 0, conversation: { unread: {} } });
        expect(importConversation(repaired).messages).toEqual(importConversation(jsonl(left)).messages);
      }),
    );
  });

  it('is read whole where a row names itself or a later row as its parent', () => {
    const whole = read(talk(20)).said;
    fc.assert(
      fc.property(fc.nat(39), fc.nat(39), (one, other) => {
        const rows = talk(20);
        const at = rows.length - 40 + Math.min(one, other);
        const parent = 'parentUuid' in (rows[at] as Row) ? 'parentUuid' : 'parentId';
        rows[at] = { ...rows[at], [parent]: `u${Math.max(one, other)}` };
        expect(read(rows).said).toEqual(whole);
        expect(repairLog(repairLog(jsonl(rows)).repaired ?? '').conversation.unread).toEqual({});
      }),
    );
  });

  it('counts the gap', () => {
    const rows = talk(10);
    rows.splice(rows.length - 7, 1);
    expect(read(rows).unread).toEqual({ 'row with a missing parent': 1 });
  });

  it('counts rows that stand twice once', () => {
    const rows = talk(3);
    const { said, unread } = read([...rows, ...rows.slice(-2)]);
    expect(said).toHaveLength(6);
    expect(unread).toEqual({ 'duplicate row': 2 });
  });

  it('reads rows that share an id and not their message, and counts them as no duplicates', () => {
    const rows = talk(3);
    const last = rows.at(-1) as Row;
    const message = { ...(last.message as object), content: [{ type: 'text', text: 'more' }] };
    const { said, unread } = read([...rows, { ...last, message }, last]);
    expect(said.at(-1)).toContain('answer 3');
    expect(said.at(-1)).toContain('more');
    expect(unread).toEqual({ 'duplicate row': 1 });
    expect(repairLog(jsonl([...rows, { ...last, message }])).unreachable).toBe(0);
  });

  it('follows a rewind, and counts the abandoned branch', () => {
    const rows = talk(3);
    const [question] = rows.slice(-2) as [Row];
    const parent = 'uuid' in question ? { uuid: 'new', parentUuid: 'u1' } : { id: 'new', parentId: 'u1' };
    const { said, unread } = read([...rows, { ...question, ...parent }]);
    expect(said).toEqual(['question 1', 'answer 1', 'question 3']);
    expect(unread).toEqual({ 'message of an abandoned branch': 4 });
  });

  it('follows a rewind to a row that was lost', () => {
    const rows = talk(3);
    const [question] = rows.slice(-2) as [Row];
    const parent = 'uuid' in question ? { uuid: 'new', parentUuid: 'u1' } : { id: 'new', parentId: 'u1' };
    const left = rows.toSpliced(rows.length - 5, 1);
    expect(read([...left, { ...question, ...parent }]).said).toEqual(['question 1', 'question 3']);
  });
});

describe('a log of Claude Code', () => {
  it('is read whole where its rows name no parents', () => {
    expect(read(claudeCode(6).map(({ parentUuid: _, ...row }) => row)).said).toHaveLength(12);
    expect(read(claudeCode(6).map((row) => ({ ...row, parentUuid: null }))).said).toHaveLength(12);
  });

  it.each([
    ['never written', 'gone'],
    ['before another compaction', 'u1'],
    ['right', 'u11'],
  ])('goes on behind a compaction whose logical parent is %s', (_, logicalParentUuid) => {
    const [question, answer] = claudeCode(1) as [Row, Row];
    const { said, compactions } = read([
      ...claudeCode(6),
      {
        type: 'system',
        subtype: 'compact_boundary',
        uuid: 'b',
        parentUuid: null,
        logicalParentUuid,
        sessionId: 's',
      },
      { ...question, uuid: 'sum', parentUuid: 'b', isCompactSummary: true },
      { ...question, uuid: 'q', parentUuid: 'sum' },
      { ...answer, uuid: 'a', parentUuid: 'q' },
    ]);
    expect(said).toHaveLength(14);
    expect(compactions).toEqual([{ beforeIndex: 12 }]);
  });

  it('is that of a subagent where all of its rows are', () => {
    expect(read(claudeCode(4).map((row) => ({ ...row, isSidechain: true }))).said).toHaveLength(8);
    const [question] = claudeCode(1);
    const { said, unread } = read([...claudeCode(2), { ...question, uuid: 'aside', isSidechain: true }]);
    expect(said).toHaveLength(4);
    expect(unread).toEqual({ 'message of a subagent': 1 });
  });

  it('keeps a result whose call was lost', () => {
    const rows = claudeCode(3);
    rows[3] = {
      ...rows[3],
      message: { id: 'm', content: [{ type: 'tool_use', id: 'c', name: 'Read', input: {} }] },
    };
    const result = { type: 'tool_result', tool_use_id: 'c', content: 'the file' };
    rows[4] = { ...rows[4], message: { content: [result] } };
    rows.splice(3, 1);
    const { messages } = read(rows);
    expect(messages.map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'user',
      'assistant',
      'tool',
      'assistant',
    ]);
    expect(messages.flatMap((message) => toolUsesOf(message))).toMatchObject([{ id: 'c', name: 'unknown' }]);
  });
});

/** Turns with two calls side by side, as each program logs them. Each row says something that no other row says. */
const working: Readonly<Record<string, (turns: number) => Row[]>> = {
  'claude-code': (turns) => {
    let last: string | null = null;
    const row = (type: string, uuid: string, parentUuid: string | null, content: unknown, id = uuid): Row => {
      last = uuid;
      return { type, uuid, parentUuid, sessionId: 's', message: { role: type, content, id } };
    };
    const call = (id: string) => [{ type: 'tool_use', id, name: 'Read', input: { path: `path-${id}.` } }];
    const result = (id: string) => [{ type: 'tool_result', tool_use_id: id, content: `result-${id}.` }];
    return Array.from({ length: turns }, (_, turn) => [
      row('user', `q${turn}`, last, `question-${turn}.`),
      row('assistant', `a${turn}`, `q${turn}`, call(`c${turn}`), `m${turn}`),
      row('assistant', `b${turn}`, `a${turn}`, call(`d${turn}`), `m${turn}`),
      row('user', `r${turn}`, `a${turn}`, result(`c${turn}`)),
      row('user', `s${turn}`, `b${turn}`, result(`d${turn}`)),
      row('assistant', `e${turn}`, `s${turn}`, [{ type: 'text', text: `answer-${turn}.` }]),
    ]).flat();
  },
  codex: (turns) => {
    const item = (payload: Row): Row => ({ timestamp: 't', type: 'response_item', payload });
    const said = (role: string, text: string) =>
      item({ type: 'message', role, content: [{ type: 'output_text', text }] });
    const call = (call_id: string) =>
      item({ type: 'function_call', call_id, name: 'Read', arguments: `{"path":"path-${call_id}."}` });
    const result = (call_id: string) =>
      item({ type: 'function_call_output', call_id, output: `result-${call_id}.` });
    return Array.from({ length: turns }, (_, turn) => [
      said('user', `question-${turn}.`),
      ...[call(`c${turn}`), call(`d${turn}`), result(`c${turn}`), result(`d${turn}`)],
      said('assistant', `answer-${turn}.`),
    ]).flat();
  },
};

it.each(Object.entries(working))(
  'a log of %s with calls loses no row but the ones that were cut out',
  (_, rowsOf) => {
    const marksIn = (value: unknown) =>
      JSON.stringify(value).match(/(?:question|answer|path|result)-\w+\./g) ?? [];
    fc.assert(
      fc.property(fc.array(fc.nat(59), { minLength: 1, maxLength: 3 }), (cuts) => {
        const rows = rowsOf(10).filter((_, index) => !cuts.includes(index));
        const { messages } = importConversation(jsonl(rows));
        expect(marksIn(messages).toSorted()).toEqual(marksIn(rows).toSorted());
      }),
    );
  },
);

it('counts rows of an unknown program instead of reading them as what the model said', () => {
  const rows = [
    { type: 'user', content: [{ type: 'text', text: 'Read the file' }] },
    { type: 'reasoning', id: 'r', summary: [{ type: 'summary_text', text: 'A file is wanted.' }] },
    { type: 'tool_result', tool_call_id: 'c', content: 'text of the file' },
    { type: 'web_search_call', id: 'w', status: 'completed' },
  ];
  const { messages, unread } = read(rows);
  expect(unread).toEqual({ 'item of an unknown shape': 2 });
  expect(JSON.stringify(messages)).not.toContain('Read the file');
  expect(JSON.stringify(messages)).toContain('web_search_call');
});

it('reads a call that was logged twice once', () => {
  const call = { type: 'function_call', call_id: 'c1', name: 'shell', arguments: '{}' };
  const line = (payload: object) => ({ type: 'response_item', payload });
  const output = { type: 'function_call_output', call_id: 'c1', output: 'done' };
  const { messages, unread } = read([line(call), line(call), line(output)]);
  expect(messages.flatMap(toolUsesOf)).toHaveLength(1);
  expect(unread).toEqual({ 'duplicate call': 1 });
});

it.each(['call_0', ''])('keeps every call if all have the id %j, also a call with the same input', (id) => {
  const paths = ['a', 'b', 'a', 'a'];
  const turns = paths.flatMap((path, at) => [
    { role: 'user', content: `Read ${path}` },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id, type: 'function', function: { name: 'read', arguments: `{"path":"${path}"}` } }],
    },
    { role: 'tool', tool_call_id: id, content: `text ${at}` },
  ]);
  const { messages, unread } = read(turns);
  expect(unread).toEqual({});
  expect(messages.flatMap(toolUsesOf).map(({ input }) => input)).toEqual(paths.map((path) => ({ path })));
  expect(messages.flatMap(toolResultsOf).map(({ output }) => textOf(output))).toEqual(
    paths.map((_, at) => `text ${at}`),
  );
  expect(messages.flatMap(toolUsesOf).every((use) => use.id !== '')).toBe(true);
});

it("matches Gemini's calls without ids by name and order", () => {
  const call = (path: string) => ({ functionCall: { name: 'read', args: { path } } });
  const result = (output: string) => ({ functionResponse: { name: 'read', response: { output } } });
  const contents = [
    { role: 'user', parts: [{ text: 'Read a and b, then a again.' }] },
    { role: 'model', parts: [call('a'), call('b')] },
    { role: 'user', parts: [result('1'), result('2')] },
    { role: 'model', parts: [call('a')] },
    { role: 'user', parts: [result('3')] },
  ];
  const { messages, unread } = read(contents);
  expect(unread).toEqual({});
  expect(messages.flatMap(toolUsesOf).map(({ input }) => input)).toEqual(
    ['a', 'b', 'a'].map((path) => ({ path })),
  );
  expect(messages.flatMap(toolResultsOf).map(({ output }) => textOf(output))).toEqual(['1', '2', '3']);
});
