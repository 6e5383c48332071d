import {
  assistantMessage,
  type JsonObject,
  type Message,
  textOf,
  toolResultMessage,
  userMessage,
} from '@x/core';
import { describe, expect, it } from 'vitest';
import { createCompactor } from '../../src/index.js';

type Step = { step: string; status: string };
const STEPS = [
  'Delete the package of evaluations and update the references to it',
  'Create the design issue for the ingest package in the tracker',
  'Update the documents for the decision to remove it',
  'Run the installation and the verification that belongs to it',
  'Commit, push, open a request, wait for the checks, merge',
];
const plan = (done: number, steps = STEPS): Step[] =>
  steps.map((step, index) => ({ step, status: index < done ? 'completed' : 'pending' }));

let calls = 0;
function call(name: string, input: JsonObject, output = 'ok', isError = false): readonly Message[] {
  const use = { type: 'tool_use', id: `c${++calls}`, name, input: structuredClone(input) } as const;
  return [assistantMessage([use]), toolResultMessage(use, output, { isError })] as readonly Message[];
}
const talk = (rounds: number) =>
  Array.from({ length: rounds }, (_, index) => [
    userMessage(`Note ${index}`),
    assistantMessage('Noted. '.repeat(40)),
  ]).flat();

const compactor = createCompactor({ model: null, contextWindow: 64_000 });

/** What stands in place of these messages, with a conversation of some length behind them. */
async function recordOf(
  messages: readonly Message[],
  rounds = 60,
): Promise<{ record: string; messages: readonly Message[] }> {
  const outcome = await compactor.compact(
    [userMessage('Remove the package.'), ...messages, ...talk(rounds)],
    { reason: 'manual' },
  );
  if (outcome.status !== 'applied') throw new Error(outcome.status);
  const record = outcome.messages
    .filter(({ kind }) => kind === 'summary')
    .map((message) => textOf(message))
    .join('\n');
  return { record, messages: outcome.messages };
}

describe('a list that a call writes anew', () => {
  const whole = (done: number) =>
    plan(done)
      .map(({ step, status }) => `  + ${step} (status ${status})`)
      .join('\n');

  it('stands whole in its newest version, and there alone', async () => {
    const { record } = await recordOf([0, 1, 2].flatMap((done) => call('update_plan', { plan: plan(done) })));
    expect(record).toMatch(/^\* r\d+ update_plan \(last written\)/m);
    expect(record).toContain(whole(2));
    expect(record.match(/\(last written\)/g)).toHaveLength(1);
    expect(record).toMatch(/^\* r2 update_plan .* \(alike: r4\)$/m);
  });

  it('is the newest until another one is written, over many records', async () => {
    let { record, messages } = await recordOf(call('update_plan', { plan: plan(1) }));
    for (let round = 0; round < 4; round++) {
      ({ record, messages } = await recordOf([...messages.slice(1), ...talk(20)]));
      expect(record).toContain(whole(1));
    }
    ({ record } = await recordOf([...messages.slice(1), ...call('update_plan', { plan: plan(4) })], 600));
    expect(record).toContain(whole(4));
    expect(record).not.toContain(whole(1));
    expect(record.match(/^\* r\d+ update_plan/gm)).toHaveLength(2);
  });

  it('is not the newest where a newer one stays in view, or where it failed', async () => {
    const { record } = await recordOf(
      [...call('update_plan', { plan: plan(1) }), ...talk(60), ...call('update_plan', { plan: plan(3) })],
      0,
    );
    expect(record).not.toContain('(last written)');
    const failed = await recordOf([
      ...call('update_plan', { plan: plan(1) }),
      ...call('update_plan', { plan: plan(5) }, 'Error: no plan', true),
    ]);
    expect(failed.record).toContain(whole(1));
  });

  it.each([
    ['is emptied', []],
    ['has one item left', plan(0).slice(4)],
  ])('is no longer the newest once it %s', async (_, left) => {
    const { record } = await recordOf([
      ...call('update_plan', { plan: plan(2) }),
      ...call('update_plan', { plan: left }),
    ]);
    expect(record).not.toContain(whole(2));
    expect(record.match(/^\* r\d+ update_plan/gm)).toHaveLength(2);
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
    for (const line of ['AAA', 'flight HAT1, date 2024-05-16', 'BBB', 'flight MUC2, date 2024-05-19'])
      expect(record).toContain(line);
  });

  it('of many items, or of content, has its line alone', async () => {
    const many = Array.from({ length: 80 }, (_, index) => ({
      step: `Step number ${index} of all`,
      status: 'pending',
    }));
    const content = [0, 1].map((index) => ({ path: `a${index}.ts`, text: 'let a;\n'.repeat(90) }));
    const { record } = await recordOf([
      ...call('update_plan', { plan: many }),
      ...call('save', { files: content }),
    ]);
    expect(record).not.toContain('(last written)');
  });
});

it('calls whose lines differ only in what is cut are alike, not the same', async () => {
  const command = (middle: string) => ({
    text: `${'begin '.repeat(30)}${middle}${' end'.repeat(40)}`,
    to: 'Ada',
  });
  const sent = await recordOf([...call('send', command('one')), ...call('send', command('two'))]);
  expect(sent.record).toMatch(/\* r\d+ send .*…[\s\S]*?\(alike: r\d+\)/);
  const again = await recordOf([...call('send', command('one')), ...call('send', command('one'))]);
  expect(again.record).toMatch(/\* r\d+ send .*…[\s\S]*?\(again: r\d+\)/);
});
