import { assistantMessage, type Message, textOf, userMessage } from '@x/core';
import { describe, expect, it } from 'vitest';
import { createCompactor, maskOutputs } from '../../src/index.js';
import { lines, round, rounds } from '../build.js';
import { GOOD_SUMMARY, modelOf, promptOf } from '../models.js';

const key = (seed: string) => `sk-${seed}${'aB3'.repeat(9)}`;
const secrets = ['Uu1', 'Aa2', 'Tt3', 'In4', 'Su5', 'Co6', 'Ca7'].map(key);
const [user, argument, output, instruction, said, configured, carried] = secrets;

function conversation(): Message[] {
  return [
    userMessage(`deploy with ${user}`),
    ...round({
      name: 'execute',
      input: { command: `curl -H ${argument}` },
      output: `Error: bad key ${output}`,
      isError: true,
    }),
    ...rounds(10, () => ({ output: lines(20) })),
    userMessage('go on'),
    assistantMessage('ok'),
  ];
}

async function chain(redact: boolean) {
  const model = modelOf(() => `${GOOD_SUMMARY}\n${said}`);
  const compactor = createCompactor({
    model,
    stages: ['summarize', 'drop_oldest'],
    keep: { messages: 2 },
    redact,
    summary: { instructions: `${configured}` },
  });
  const options = { instructions: `keep ${instruction}`, appendix: `Todos: use ${carried}` };
  const first = await compactor.compact(conversation(), options);
  const again = [...first.messages, ...rounds(10, () => ({ output: lines(20) })), userMessage('and now')];
  const second = await compactor.compact(again, options);
  expect([first.status, second.status]).toEqual(['applied', 'applied']);
  const summaries = [first, second].flatMap(({ messages }) =>
    messages.filter(({ kind }) => kind === 'summary'),
  );
  return { summaries, asked: model.requests.map(promptOf).join('\n') };
}

describe('summaries', () => {
  it('neither tell nor ask a summarizer any secret, over a chain, in text or beside it', async () => {
    const { summaries, asked } = await chain(true);
    const everything = JSON.stringify(summaries) + asked;
    for (const secret of secrets) expect(everything).not.toContain(secret);
    // Half a key is a secret, too.
    const halves = secrets.flatMap((secret) => [secret.slice(0, 8), secret.slice(-8)]);
    for (const half of halves) expect(everything).not.toContain(half);
    for (const summary of summaries) expect(textOf(summary)).toContain('deploy with [redacted:');
    expect(asked).toContain('deploy with [redacted:api-key]');
  });

  it.each([
    [true, false],
    [false, true],
  ])(
    'with redact %s have the cursor of a listing, and a key that is to be preserved: %s',
    async (redact, kept) => {
      const model = modelOf(() => GOOD_SUMMARY);
      const cursor = 'CAUQAA1234567890';
      const output = `{"orders": ["W53", "W54"], "page_token": "${cursor}", "api_key": "${argument}"}`;
      const summary = { preserve: ['api_keys'] };
      const outcome = await createCompactor({ model, keep: { messages: 2 }, redact, summary }).compact([
        userMessage('list all orders'),
        ...round({ name: 'list_orders', output }),
        ...rounds(10, () => ({ output: lines(200) })),
      ]);
      const text = textOf(outcome.messages.find(({ kind }) => kind === 'summary') ?? []);
      for (const told of [text, promptOf(model.requests[0])]) {
        expect(told).toContain(cursor);
        expect(told.includes(`${argument}`)).toBe(kept);
        expect(told.includes('[redacted:api-key]')).toBe(!kept);
      }
      expect(promptOf(model.requests[0])).toContain('Keep in particular: api_keys.');
    },
  );

  it.each([
    '{"db":"shop","password":["hunterTwice"]}',
    '{"db":"shop","token":{"value":"hunterTwice"}}',
    JSON.stringify({ credentials: { password: { current: ['hunterTwice'] } }, db: 'shop' }, null, 2),
    JSON.stringify({ body: '{"db":"shop","password":["hunterTwice"]}' }),
  ])('hold no secret that is nested in a result: %s', async (output) => {
    const model = modelOf(() => GOOD_SUMMARY);
    const outcome = await createCompactor({ model, keep: { messages: 2 } }).compact([
      userMessage('look at the database'),
      ...round({ name: 'get_config', output }),
      ...rounds(10, () => ({ output: lines(200) })),
    ]);
    const text = textOf(outcome.messages.find(({ kind }) => kind === 'summary') ?? []);
    for (const told of [text, promptOf(model.requests[0])]) {
      expect(told).toContain('shop');
      expect(told).not.toContain('hunterTwice');
    }
  });

  it('take out what an earlier summary held', async () => {
    const { summaries } = await chain(false);
    const compactor = createCompactor({ stages: ['summarize', 'drop_oldest'], keep: { messages: 2 } });
    const outcome = await compactor.compact([...summaries.slice(-1), ...rounds(10), userMessage('go')]);
    const summary = outcome.messages.find(({ kind }) => kind === 'summary');
    for (const secret of secrets) expect(JSON.stringify(summary)).not.toContain(secret);
  });

  it.each(['one_line', 'head_tail'] as const)(
    'hold no secret of an output that was masked: %s',
    async (format) => {
      // By itself it looks like any name: what tells it is the word before it.
      const secret = 'hunter_TwoTimes';
      const messages = [
        userMessage('look'),
        ...round({ output: `${lines(200)}\npassword: ${secret}\nuser_name: knownOwner` }),
        ...rounds(8, () => ({ output: lines(200) })),
        assistantMessage('ok'),
      ];
      const mask = createCompactor({ stages: [maskOutputs({ format }), 'drop_oldest'] });
      const masked = await mask.compact(messages);
      expect(masked.status).toBe('applied');
      expect(masked.steps.map(({ stage }) => stage)).toContain('mask_outputs');
      const shows = format === 'head_tail';
      expect(JSON.stringify(masked.messages).includes(secret)).toBe(shows);
      const later = [...masked.messages, ...rounds(8), userMessage('and now')];
      const stored = JSON.parse(JSON.stringify(later)) as Message[];
      for (const list of [later, stored]) {
        const summarized = await createCompactor({
          stages: ['summarize', 'drop_oldest'],
          keep: { messages: 2 },
        }).compact(list);
        expect(summarized.status).toBe('applied');
        expect(JSON.stringify(summarized.messages)).not.toContain(secret);
        expect(JSON.stringify(summarized.messages).includes('knownOwner')).toBe(shows);
      }
    },
  );

  it('hold no secret of a request for whose words there is no room before them', async () => {
    const requests = secrets.map((secret, index) => [
      userMessage(`part ${index}: log in with ${secret}. ${'Mind the order of the steps. '.repeat(40)}`),
      assistantMessage(`part ${index} is done. `.repeat(60)),
    ]);
    const compactor = createCompactor({
      stages: ['summarize'],
      keep: { messages: 1, users: 0 },
      model: null,
    });
    const outcome = await compactor.compact([...requests.flat(), userMessage('go'), assistantMessage('ok')]);
    const summary = outcome.messages.find(({ kind }) => kind === 'summary');
    for (const secret of secrets) expect(JSON.stringify(summary)).not.toContain(secret);
    expect(summary && textOf(summary)).toMatch(/^» r\d+ .*part 3: log in with \[redacted:api-key\]/m);
  });

  it('say everything when redaction is switched off', async () => {
    const { asked } = await chain(false);
    for (const secret of secrets) expect(asked).toContain(secret);
  });
});
