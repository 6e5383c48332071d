import { assistantMessage, type Message, textOf, toolResultMessage, userMessage } from '@x/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type CompactionSettings, createCompactor } from '../../src/index.js';

const text = (messages: readonly Message[]) => messages.map((message) => textOf(message)).join('\n');

/** Turns of a conversation, each compacted when it is due; answers what every request held. */
async function* requests(
  turns: Iterable<readonly Message[]>,
  contextWindow: number,
  settings: CompactionSettings = {},
): AsyncGenerator<readonly Message[]> {
  const compactor = createCompactor({ ...settings, contextWindow, model: null });
  let view: readonly Message[] = [];
  for (const turn of turns) {
    view = [...view, ...turn];
    const outcome = await compactor.compact(view, { reason: 'proactive_budget' });
    expect(['applied', 'skipped']).toContain(outcome.status);
    view = outcome.messages;
    yield view;
  }
}

const orders = [
  [
    'Never push to main, open a pull request instead.',
    'Use tabs for indentation.',
    'All prices are in cents.',
  ],
  ['请不要推送到主分支。', '母亲腿脚不便，酒店必须有电梯。', '确认号是 QX7731，请记住。'],
  ['Niemals direkt auf main pushen!', 'Beträge immer in Cent angeben.', 'Sprich mich mit „Sie“ an.'],
  ['لا تدفع إلى الفرع الرئيسي.', 'الأسعار بالسنت.', 'رقم الحجز 5521.'],
] as const;
const chatter = ['and now the next one', '下一个呢？', 'und jetzt das nächste', 'التالي من فضلك'] as const;

describe('what a user said', () => {
  it('stays word for word in every later request over 100 turns, in any script and window', async () => {
    const setting = fc.record({
      script: fc.nat({ max: 3 }),
      contextWindow: fc.constantFrom(8_000, 32_000, 200_000),
      answer: fc.integer({ min: 20, max: 400 }),
    });
    await fc.assert(
      fc.asyncProperty(setting, async ({ script, contextWindow, answer }) => {
        const turns = Array.from({ length: 100 }, (_, turn) => [
          userMessage(orders[script]?.[turn] ?? `${chatter[script]} ${turn % 7}`),
          assistantMessage(`answer ${turn} `.repeat(answer)),
        ]);
        let turn = 0;
        for await (const request of requests(turns, contextWindow)) {
          for (const order of orders[script]?.slice(0, turn + 1) ?? [])
            expect(text(request)).toContain(order);
          turn++;
        }
      }),
      { numRuns: 8 },
    );
  });

  it.each([null, 10] as const)(
    'keeps a list of requirements whole in a small window over 130 turns: %s',
    async (kept) => {
      const list = Array.from(
        { length: 25 },
        (_, at) =>
          `- AC-${at}: screen ${at % 5} must answer within ${120 + 7 * at} ms for ${3 * at + 2} tenants and never log field number ${at}`,
      ).join('\n');
      const turns = Array.from({ length: 130 }, (_, turn) => [
        userMessage(turn === 1 ? `The acceptance criteria:\n${list}` : `Work step ${turn}.`),
        assistantMessage(`step ${turn} changes value ${turn * 7} of the part. `.repeat(12)),
      ]);
      const keep = kept === null ? {} : { messages: kept };
      for await (const request of requests(turns, 8_000, { keep })) {
        if (request.some(({ kind }) => kind === 'summary')) expect(text(request)).toContain(list);
      }
    },
  );

  it('stands before the record of the work that it caused, and every request stays in its order', async () => {
    const turns = Array.from({ length: 30 }, (_, turn) => [
      userMessage(`request number ${turn}: look at part ${turn}`),
      assistantMessage(`part ${turn} is fine. `.repeat(60)),
    ]);
    for await (const request of requests(turns, 8_000)) {
      const asked = request.filter((message) => message.role === 'user' && message.kind === undefined);
      const numbers = asked.map((message) => Number(/number (\d+)/.exec(textOf(message))?.[1]));
      expect(numbers).toEqual(numbers.toSorted((one, other) => one - other));
      const summary = request.findIndex(({ kind }) => kind === 'summary');
      if (summary !== -1) expect(request[0]).toBe(asked[0]);
    }
  });

  it('keeps what a short reply answers', async () => {
    const turns = [
      [userMessage('Book a room'), assistantMessage('I found two. Do you want the Adler or the Bellevue?')],
      [userMessage('yes, the second'), assistantMessage('Booked the room.')],
      ...Array.from({ length: 40 }, (_, turn) => [
        userMessage(`what about museum ${turn}`),
        assistantMessage(`Museum ${turn} opens at ${turn % 12}. `.repeat(40)),
      ]),
    ];
    let last: readonly Message[] = [];
    for await (const request of requests(turns, 16_000)) last = request;
    expect(last.some(({ kind }) => kind === 'summary')).toBe(true);
    expect(text(last)).toContain('yes, the second');
    expect(text(last)).toContain('the Adler or the Bellevue?');
  });

  it('keeps all of a long list of criteria while it has room', async () => {
    const criteria = Array.from(
      { length: 25 },
      (_, index) => `${index + 1}. The export must handle case ${index} exactly.`,
    );
    const turns = [
      [userMessage('Plan the export'), assistantMessage('Ready.')],
      [userMessage(`Criteria:\n${criteria.join('\n')}`), assistantMessage('Understood.')],
      ...Array.from({ length: 60 }, (_, turn) => [
        userMessage(`step ${turn}`),
        assistantMessage(`Did step ${turn}. `.repeat(50)),
      ]),
    ];
    let last: readonly Message[] = [];
    for await (const request of requests(turns, 16_000)) last = request;
    for (const criterion of criteria) expect(text(last)).toContain(criterion);
  });
});

describe('what an agent did', () => {
  it('stands in every later request with its argument and outcome, in order, over 100 acts of unknown tools', async () => {
    const tools = ['refund_order', 'send_email', 'run_query', 'überweisen', '下单'] as const;
    const setting = fc.record({
      contextWindow: fc.constantFrom(16_000, 64_000),
      noise: fc.integer({ min: 50, max: 300 }),
    });
    await fc.assert(
      fc.asyncProperty(setting, async ({ contextWindow, noise }) => {
        const turns = Array.from({ length: 100 }, (_, turn): readonly Message[] => {
          const call = {
            type: 'tool_use',
            id: `call-${turn}`,
            name: tools[turn % tools.length] as string,
            input: { target: `W-${1_000 + turn}` },
          } as const;
          return [
            ...(turn === 0 ? [userMessage('Please do it')] : []),
            assistantMessage([{ type: 'text', text: `thinking about it ${turn} `.repeat(noise) }, call]),
            toolResultMessage(call, turn % 9 === 0 ? 'card declined' : 'done', { isError: turn % 9 === 0 }),
          ];
        });
        let turn = 0;
        for await (const request of requests(turns, contextWindow)) {
          const all = request
            .flatMap((message) => message.content)
            .map((block) => (block.type === 'text' ? block.text : JSON.stringify(block)))
            .join('\n');
          let from = 0;
          for (let act = 0; act <= turn; act++) {
            const at = all.indexOf(`W-${1_000 + act}`, from);
            expect(at, `act ${act} after turn ${turn}`).toBeGreaterThanOrEqual(from);
            from = at;
          }
          if (turn > 0) expect(all).toContain('card declined');
          turn++;
        }
      }),
      { numRuns: 4 },
    );
  });

  it('tells a failure that was mended from one that was not', async () => {
    const call = (id: string, path: string) =>
      ({ type: 'tool_use', id, name: 'deploy', input: { path } }) as const;
    const step = (id: string, path: string, output: string, isError: boolean): readonly Message[] => [
      assistantMessage([call(id, path)]),
      toolResultMessage(call(id, path), output, { isError }),
    ];
    const turns = [
      [userMessage('Deploy both')],
      step('1', 'shop', 'quota exceeded', true),
      step('2', 'blog', 'no such host', true),
      step('3', 'shop', 'deployed', false),
      ...Array.from({ length: 40 }, (_, turn) => [
        userMessage(`go on ${turn}`),
        assistantMessage(`Thinking ${turn}. `.repeat(160)),
      ]),
    ];
    let last: readonly Message[] = [];
    for await (const request of requests(turns, 16_000)) last = request;
    expect(text(last)).toMatch(/deploy shop → failed: “quota exceeded”, mended in r\d+/);
    expect(text(last)).toMatch(/deploy blog → failed: “no such host”\n/);
  });
});
