import { type Message, textOf, userMessage } from '@x/core';
import { atOnce } from '@x/core/internal';
import { describe, expect, it } from 'vitest';
import { createCompactor } from '../../src/index.js';
import { renderEntries } from '../../src/record/entry.js';
import { selectMessages } from '../../src/record/select-messages.js';
import { lines, round, rounds } from '../build.js';

const summaryOf = (messages: readonly Message[]) =>
  textOf(messages.find(({ kind }) => kind === 'summary') ?? []);

const looks = (count: number, from = 0) =>
  rounds(count, (index) => ({
    name: index % 3 === 0 ? 'search' : 'read_file',
    input: { path: `src/part${from + index}.ts` },
    output: lines(3),
  }));

const select = (messages: readonly Message[], room: number) =>
  atOnce(
    selectMessages(
      messages.map((message, index) => ({ at: index + 1, message })),
      room,
    ),
  );

describe('the messages that a record is written from', () => {
  it('are all of 1 500, and no more of 20 000 than of 2 000', () => {
    const all = looks(750);
    expect(select(all, 400)).toEqual({
      read: all.map((message, index) => ({ at: index + 1, message })),
      counted: [],
    });
    const [few, many] = [select(looks(1_000), 3_000), select(looks(10_000), 3_000)];
    expect(many.read.length).toBe(few.read.length);
    expect(many.read.at(-1)?.at).toBe(20_000);
  });

  it('leave a count of the calls in all others', () => {
    const { read, counted } = select(looks(1_200), 3_000);
    const skipped = 1_200 - read.length / 2;
    expect(renderEntries(counted)).toBe(
      `* r1–r${skipped * 2 - 1}: search ×${skipped / 3}, read_file ×${(skipped * 2) / 3}`,
    );
  });

  it('include old requests with the statement before each, open failures and the last list of a tool', () => {
    const todo = (text: string) => ({ todos: [{ content: text, status: 'pending' }] });
    const failing = (path: string) => ({
      name: 'edit_file',
      input: { path },
      output: 'Denied',
      isError: true,
    });
    const old = [
      userMessage('Make the shop faster'),
      ...round({ name: 'todo', input: todo('Find out what is slow in the shop'), output: 'ok' }),
      ...round({ name: 'todo', input: todo('Put an index on the table of orders'), output: 'ok' }),
      ...round(failing('src/mended.ts')),
      ...round(failing('src/open.ts')),
      ...round({ name: 'edit_file', input: { path: 'src/mended.ts' }, output: 'ok' }),
      ...looks(10),
      userMessage('And the invoices?'),
    ];
    const { read } = select([...old, ...looks(2_000)], 2_000);
    const numbers = read.flatMap(({ at }) => (at <= old.length ? at : []));
    expect(numbers).toEqual([1, 4, 5, 8, 9, 30, 31, 32]);
  });
});

describe('the record of a long conversation', () => {
  it('counts each call once and tells no secret', async () => {
    const secret = 'AKIAIOSFODNN7EXAMPLE';
    const messages = [
      userMessage('Go'),
      ...looks(900),
      ...round({ name: 'run', input: { command: `deploy --key ${secret}` }, output: 'no', isError: true }),
      ...looks(900, 900),
    ];
    const outcome = await createCompactor({ contextWindow: 16_000 }).compact(messages);
    const record = summaryOf(outcome.messages);
    expect(record).toContain('[redacted:');
    expect(record).not.toContain(secret);
    const counted = [...record.matchAll(/ ×(\d+)/g)].reduce((sum, [, times]) => sum + Number(times), 0);
    const told = record
      .split('\n')
      .flatMap((line) => (/^[*·] r\d+ /.test(line) ? (line.match(/\br\d+/g) ?? []) : []));
    const staying = outcome.messages.filter(({ role }) => role === 'assistant').length;
    expect(counted + told.length + staying).toBe(1_801);
  });
});
