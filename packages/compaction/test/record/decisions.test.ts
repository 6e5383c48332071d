import { assistantMessage, type Message, textOf, userMessage } from '@x/core';
import { expect, it } from 'vitest';
import { createCompactor } from '../../src/index.js';
import { rounds } from '../build.js';

const DECISIONS =
  'I looked at both options. I decided to keep the orders table partitioned by month, because the reports read one month at a time. ' +
  'I rejected Redis for the locks in favour of a Postgres advisory lock, since the deployment has no Redis. ' +
  'The tests pass with both changes, and the migration takes two minutes on the copy of production.';

const work = (count: number, part: number) =>
  rounds(count, (at) => ({
    input: { path: `src/p${part}/f${at}.ts` },
    output: `export const value${at} = compute(${part}, ${at});\n`.repeat(30),
    say: `I look at file ${at} of part ${part} now, since it may be wrong.`,
  }));

it.each([8_000, 16_000, 32_000])(
  'both decisions of one answer and their reasons stay, over five compactions without a model, in a window of %i',
  async (contextWindow) => {
    const compactor = createCompactor({ contextWindow, model: null });
    let messages: readonly Message[] = [
      userMessage('Make the order service safe for two workers, and write down what you decide.'),
      ...work(4, 0),
      assistantMessage(DECISIONS),
    ];
    let compactions = 0;
    for (let part = 1; compactions < 5; part++) {
      const more = [userMessage(`Go on with part ${part}.`), ...work(Math.ceil(contextWindow / 900), part)];
      const outcome = await compactor.compact(
        [...messages, ...more, assistantMessage(`Part ${part} is done in ${part} places.`)],
        { reason: 'proactive_budget' },
      );
      if (outcome.status === 'applied') compactions++;
      messages = outcome.messages;
      const text = messages.map(textOf).join('\n');
      for (const kept of ['partitioned by month', 'one month at a time', 'advisory lock', 'has no Redis'])
        expect(text).toContain(kept);
    }
  },
);
