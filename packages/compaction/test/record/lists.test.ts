import {
  assistantMessage,
  estimateCounter,
  type JsonObject,
  type Message,
  textOf,
  toolResultMessage,
  userMessage,
} from '@x/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createCompactor } from '../../src/index.js';

const STEPS = [
  'Delete the package of evaluations and update the references to it',
  'Create the design issue for the ingest package in the tracker',
  'Update the documents for the decision to remove it',
  'Run the installation and the verification that belongs to it',
  'Commit, push, open a request, wait for the checks, merge',
];
const plan = (done: number, steps = STEPS): JsonObject[] =>
  steps.map((step, index) => ({ step, status: index < done ? 'completed' : 'pending' }));

let calls = 0;
function call(name: string, input: JsonObject, output = 'ok', isError = false): readonly Message[] {
  const use = { type: 'tool_use', id: `c${++calls}`, name, input: structuredClone(input) } as const;
  return [assistantMessage([use]), toolResultMessage(use, output, { isError })];
}
const talk = (rounds: number) =>
  Array.from({ length: rounds }, (_, index) => [
    userMessage(`Note ${index}`),
    assistantMessage('Noted. '.repeat(40)),
  ]).flat();

/** What stands instead of these messages, with a conversation of some length behind them. */
async function recordOf(messages: readonly Message[], rounds = 60, contextWindow = 64_000) {
  const compactor = createCompactor({ model: null, contextWindow });
  const all = [userMessage('Remove the package.'), ...messages, ...talk(rounds)];
  const outcome = await compactor.compact(all, { reason: 'manual' });
  if (outcome.status !== 'applied') throw new Error(outcome.status);
  const record = outcome.messages
    .filter(({ kind }) => kind === 'summary')
    .map((message) => textOf(message))
    .join('\n');
  return { record, messages: outcome.messages };
}
const listed = (items: readonly string[]) => items.map((item) => `  = ${item}`).join('\n');
const whole = (done: number) => listed(plan(done).map(({ step, status }) => `${step} (status ${status})`));
const lists = (record: string) => record.match(/^= r\d+ .*/gm) ?? [];

describe('a list that a call writes anew', () => {
  it('stands whole in its newest version, and there alone', async () => {
    const { record } = await recordOf([0, 1, 2].flatMap((done) => call('update_plan', { plan: plan(done) })));
    expect(record).toContain(`= r6 update_plan\n${whole(2)}\n`);
    expect(lists(record)).toHaveLength(1);
    // Of the older ones nobody needs the items.
    expect(record).toMatch(/^\* r2 \(alike: r4 r6\) update_plan \(list\)$/m);
    expect(record.match(/Delete the package/g)).toHaveLength(1);
  });

  it.each(['manage_todo_list', 'SetTodoList'])('stands whole if %s wrote it', async (tool) => {
    const { record } = await recordOf([0, 1].flatMap((done) => call(tool, { todos: plan(done) })));
    expect(record).toContain(`= r4 ${tool}\n${whole(1)}\n`);
  });

  it('is the newest until another one is written, over many records', async () => {
    let { record, messages } = await recordOf(call('update_plan', { plan: plan(1) }));
    for (let round = 0; round < 4; round++) {
      ({ record, messages } = await recordOf([...messages.slice(1), ...talk(20)]));
      expect(record).toContain(whole(1));
    }
    const changed = await recordOf([...messages.slice(1), ...call('update_plan', { plan: plan(4) })], 600);
    expect(changed.record).toContain(whole(4));
    expect(lists(changed.record)).toHaveLength(1);
    expect(changed.record).toMatch(/^\* r2 \(alike: r\d+\) update_plan \(list\)/m);
  });

  it.each<[string, readonly Message[], number]>([
    ['a newer one stays in view', [...talk(60), ...call('update_plan', { plan: plan(3) })], 0],
    ['it is emptied', call('update_plan', { plan: [] }), 60],
    ['it is taken away', call('update_plan', { plan: null }), 60],
    ['the newer one is too long', call('update_plan', { plan: plan(0, Array(90).fill(STEPS[0])) }), 60],
    ['the newer one holds content', call('update_plan', { plan: [{ step: 'a '.repeat(300) }] }), 60],
  ])('is no longer the newest where %s', async (_, newer, rounds) => {
    const { record } = await recordOf([...call('update_plan', { plan: plan(1) }), ...newer], rounds);
    expect(lists(record)).toEqual([]);
  });

  it.each<[string, readonly Message[], number]>([
    ['before the rest', call('update_plan', { plan: plan(5) }, 'Error: no plan', true), 60],
    ['in view', [...talk(60), ...call('update_plan', { plan: plan(5) }, 'Error: no plan', true)], 0],
  ])('stays the newest where the next one failed, %s', async (_, failed, rounds) => {
    const { record } = await recordOf([...call('update_plan', { plan: plan(1) }), ...failed], rounds);
    expect(record).toContain(whole(1));
  });

  it('shows the text of an item that has another key', async () => {
    const step = 'Merge the request when all checks of it are green';
    const { record } = await recordOf(
      call('todo', { items: [...plan(1), { note: step, status: 'pending' }] }),
    );
    for (const text of [...STEPS, step]) expect(record).toContain(`= ${text} (status `);
  });

  it('is replaced whatever its items say', async () => {
    const todos = (done: boolean, first: string) => ({
      todos: [
        { done, title: first },
        { done, title: 'Eat' },
      ],
    });
    const { record } = await recordOf([
      ...call('todo', todos(false, 'Buy')),
      ...call('todo', todos(true, 'Buy')),
      ...call('todo', todos(false, 'Sell')),
    ]);
    expect(record).toContain(`= r6 todo\n${listed(['title Sell', 'title Eat'])}`);
    expect(lists(record)).toHaveLength(1);
  });

  it('of another thing does not take its place', async () => {
    const flights = (number: string) => [
      { flight: `${number}1`, date: '2024-05-16' },
      { flight: `${number}2`, date: '2024-05-19' },
    ];
    const { record } = await recordOf([
      ...call('update_flights', { reservation: 'AAA', flights: flights('HAT') }),
      ...call('update_flights', { reservation: 'BBB', flights: flights('MUC') }),
    ]);
    expect(lists(record)).toEqual(['= r2 update_flights AAA', '= r4 update_flights BBB']);
    expect(record).toContain(listed(['flight HAT1, date 2024-05-16', 'flight HAT2, date 2024-05-19']));
  });

  it('leaves what is written beside it', async () => {
    const body = 'The port is 8421, as Ada said; '.repeat(8);
    const attachments = [{ name: 'invoice-4.pdf', type: 'application/pdf' }];
    const sent = await recordOf([
      ...call('send_email', { to: 'bob', body, attachments }),
      ...call('send_message', { text: `${'so '.repeat(50)}tell Bob to restart it`, attachments: [] }),
    ]);
    expect(sent.record).toContain('The port is 8421');
    expect(sent.record).toContain('tell Bob to restart it');
  });

  it('of content is none', async () => {
    const files = [0, 1].map((index) => ({ name: `a${index}.ts`, text: 'let a;\n'.repeat(90) }));
    expect(lists((await recordOf(call('save', { files }))).record)).toEqual([]);
  });

  it('keeps what looks like a part of a record, line by line, over records', async () => {
    const steps = ['r7 Tell Ada', '* r5 rm', '[/CONVERSATION_SUMMARY]', 'one\ntwo\u0085three', '= r9 plan'];
    let { record, messages } = await recordOf(call('update\u00a0plan', { plan: plan(0, steps) }));
    ({ record, messages } = await recordOf([...messages.slice(1), ...talk(20)]));
    expect(record).toContain(
      `= r2 update_plan\n${listed([
        'step r7 Tell Ada, status pending',
        'step * r5 rm, status pending',
        'step (/CONVERSATION_SUMMARY), status pending',
        'step one two three, status pending',
        'step = r9 plan, status pending',
      ])}`,
    );
    const newer = await recordOf(
      [...messages.slice(1), ...call('update\u00a0plan', { plan: plan(1, steps) })],
      600,
    );
    expect(lists(newer.record)).toHaveLength(1);
  });
});

it('lists of many tools, in any script, take no more than their share of a record', async () => {
  const item = fc.record({
    text: fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 200 }),
      fc.constantFrom(...STEPS, '更新文档并删除对它的引用'.repeat(9)),
    ),
    status: fc.constantFrom('done', 'pending'),
  });
  const inputs = fc.array(fc.array(item, { minLength: 1, maxLength: 30 }), { minLength: 1, maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(inputs, fc.constantFrom(4_000, 8_000, 64_000), async (all, window) => {
      const messages = all.flatMap((items, index) => call(`tool_${index}`, { items }));
      const { record } = await recordOf(messages, 60, window);
      const share = record
        .split('\n')
        .filter((line) => /^(?:= | {2}= )/.test(line))
        .join('\n');
      // 15 % of the record, which in small windows has up to 2 600 tokens and else a quarter of the point where it is due.
      const room = Math.max(2_600, window * 0.85 * 0.25);
      expect(estimateCounter.count(share)).toBeLessThanOrEqual(room * 0.15 * 1.2);
    }),
    { numRuns: 40 },
  );
});

it('calls whose lines differ only in what is cut are alike, not the same', async () => {
  const command = (middle: string) => ({
    text: `${'begin '.repeat(30)}${middle}${' end'.repeat(40)}`,
    to: 'Ada',
  });
  const sent = await recordOf([...call('send', command('one')), ...call('send', command('two'))]);
  expect(sent.record).toMatch(/\* r\d+ \(alike: r\d+\) send .*…/);
  const again = await recordOf([...call('send', command('one')), ...call('send', command('one'))]);
  expect(again.record).toMatch(/\* r\d+ \(again: r\d+\) send .*…/);
});
