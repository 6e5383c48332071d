import { assistantMessage, type Message, textOf, userMessage } from '@x/core';
import { describe, expect, it } from 'vitest';
import { createCompactor } from '../../src/create-compactor.js';
import { lines, meter, round, rounds } from '../build.js';
import { GOOD_SUMMARY, modelOf } from '../models.js';

/** A look-up whose answer holds facts that only the record can keep. */
function lookUp(index: number): readonly Message[] {
  const order = {
    order: `W${1_000 + index}`,
    item: `bookshelf ${index}`,
    price: 100 + index,
    status: 'delivered',
  };
  return round({ name: 'get_order', input: { order: order.order }, output: JSON.stringify(order) });
}

describe('the record in a small window', () => {
  it('holds what was looked up, beside new results that fill the window', async () => {
    const compactor = createCompactor({ model: null, contextWindow: 4_000 });
    const orders = Array.from({ length: 20 }, (_, index) => lookUp(index)).flat();
    const request = userMessage('Which of my orders can go back?');
    const unseen = round({
      name: 'search',
      input: { query: 'all' },
      output: lines(4_000),
    });
    const { messages } = await compactor.compact([request, ...orders, ...unseen], {
      reason: 'proactive_budget',
    });
    const summary = messages.find(({ kind }) => kind === 'summary');
    const held = Array.from({ length: 20 }, (_, index) => `bookshelf ${index}`).filter((item) =>
      textOf(summary as Message).includes(item),
    );
    expect(held.length).toBeGreaterThanOrEqual(10);
  });

  it('has what a short narrative and the newest messages leave of the target', async () => {
    const model = modelOf(() => GOOD_SUMMARY);
    const orders = Array.from({ length: 60 }, (_, index) => lookUp(index)).flat();
    const request = userMessage('Which of my orders can go back?');
    const compactor = createCompactor({ model, contextWindow: 4_000 });
    const { messages } = await compactor.compact([request, ...orders]);
    expect(meter.messages(messages)).toBeGreaterThan(0.7 * 2_550);
    expect(meter.messages(messages)).toBeLessThanOrEqual(2_550);
  });

  it('keeps beside a narrative what the narrative does not tell', async () => {
    const orders = Array.from({ length: 60 }, (_, index) => lookUp(index)).flat();
    const isTold = (index: number) => index % 2 === 0;
    const rows = Array.from({ length: 60 }, (_, index) => index)
      .filter(isTold)
      .map((index) => `W${1_000 + index}: bookshelf ${index}, price ${100 + index}, delivered`);
    const narrative = GOOD_SUMMARY.replace('src/login.ts', rows.join('\n'));
    const compactor = createCompactor({ model: modelOf(() => narrative), contextWindow: 4_000 });
    const { messages } = await compactor.compact([userMessage('Which of my orders can go back?'), ...orders]);
    const [, record = ''] = textOf(messages.find(({ kind }) => kind === 'summary') as Message).split(
      '## RECORD',
    );
    const held = Array.from({ length: 60 }, (_, index) => index).filter((index) =>
      record.includes(`item bookshelf ${index},`),
    );
    const told = held.filter(isTold).length;
    expect(held.length - told).toBeGreaterThan(20);
    expect(held.length - told).toBeGreaterThan(2 * told);
  });

  it('leaves room for what was concluded beside many calls', async () => {
    const parts = Array.from({ length: 20 }, (_, index) => {
      const conclusion = `Conclusion ${index}: service${index} fails because its schema${index} was renamed to table${index}, as the owner of team${index} confirmed.`;
      const acts = rounds(12, (act) => ({
        name: 'apply',
        input: {
          target: `cluster-${index}-${act}/deployments/service-${act}`,
          image: `registry.local/app:${index}.${act}`,
        },
        output: `deployment ${index}-${act} was rolled out after ${act} attempts`,
      }));
      return [...acts, ...round({ name: 'note', say: conclusion })];
    });
    const compactor = createCompactor({ model: null, contextWindow: 10_000 });
    let messages: readonly Message[] = [userMessage('Find out why the services fail')];
    for (const part of parts)
      ({ messages } = await compactor.compact([...messages, ...part], { reason: 'proactive_budget' }));
    const seen = messages.map((message) => textOf(message)).join('\n');
    const held = parts.filter((_, index) => seen.includes(`schema${index} was renamed to table${index}`));
    expect(held.length).toBeGreaterThanOrEqual(18);
  });

  it('never costs a request of the user, as long as the record can be smaller', async () => {
    const wish =
      'Do not count people with few changes out: one change may be the most important. Read my notes on it first.';
    const edits = (count: number) =>
      rounds(count, (index) => ({
        name: 'edit_file',
        input: { path: `src/file${index}.ts`, content: lines(60, `row ${index}`) },
      }));
    for (let size = 9_600; size <= 10_400; size += 50) {
      const compactor = createCompactor({ model: null, contextWindow: 8_000 });
      const steps = [
        [userMessage('Rank the engineers of the project'), ...edits(3)],
        [userMessage(wish), ...edits(3)],
        [userMessage('Go'), ...edits(8)],
        round({ name: 'write_file', input: { path: 'rank.py', content: 'x = 1;'.repeat(size / 6) } }),
      ];
      let messages: readonly Message[] = [];
      for (const step of steps)
        ({ messages } = await compactor.compact([...messages, ...step], { reason: 'proactive_budget' }));
      expect([size, messages.some((message) => textOf(message).includes(wish))]).toEqual([size, true]);
    }
  });

  it.each([
    [2, false],
    [80, true],
  ])('says whether all of %i requests stand before it', async (count, isQuoted) => {
    const talk = Array.from({ length: count }, (_, index) => [
      userMessage(`Wish ${index}: ${`keep the part${index} of the shop `.repeat(4)}`),
      ...round({ output: lines(60) }),
    ]).flat();
    const { messages } = await createCompactor({ model: null, contextWindow: 4_000 }).compact(talk);
    const summary = textOf(messages.find(({ kind }) => kind === 'summary') ?? []);
    expect(summary).toContain("in the user's own words");
    expect(summary.includes('as far as there was room')).toBe(isQuoted);
  });

  describe('of a listing and of results of one form', () => {
    const recordOf = async (remark: (at: number) => string) => {
      const paths = Array.from({ length: 150 }, (_, at) => {
        const folder = ['app', 'lib', 'ui', 'core/deep'][at % 4];
        return `src/${folder}/${['list', 'view', 'item', 'page', 'model'][at % 5]}${at}.${['ts', 'tsx', 'css'][at % 3]}`;
      });
      const rules = Array.from({ length: 14 }, (_, at) =>
        round({
          name: 'read_file',
          input: { path: `rules/M${at}.md` },
          output: [
            `# Rule ${at} of the shop`,
            `Quantities above ${30 + at * 7} are rejected with E_MOD_${600 + at}.`,
            remark(at),
            `Limit: ${1_000 + at * 13}`,
          ].join('\n'),
        }),
      ).flat();
      const listing = round({ name: 'list_files', input: { path: '.' }, output: paths.join('\n') });
      const compactor = createCompactor({ model: null, contextWindow: 4_000, keep: { messages: 2 } });
      const request = userMessage('Bring the modules into line with the rules.');
      const talk = [userMessage('Go on.'), assistantMessage('I go on.')];
      const { messages } = await compactor.compact([request, ...listing, ...rules, ...talk]);
      return textOf(messages.find(({ kind }) => kind === 'summary') as Message);
    };

    it('gives the listing little', async () => {
      const record = await recordOf((at) => lines(8, `remark of ${at}`));
      expect(record.match(/^ {2}\| .*src\//gm)?.length).toBeLessThan(20);
    });

    it('holds the same fields of each result', async () => {
      const record = await recordOf(() => lines(6, 'remark'));
      for (let at = 0; at < 14; at++) {
        expect(record).toContain(`above ${30 + at * 7} are rejected with E_MOD_${600 + at}.`);
        expect(record).toContain(`Limit: ${1_000 + at * 13}`);
      }
    });
  });

  it('leaves most of its room to a narrative that uses it', async () => {
    const rows = Array.from(
      { length: 118 },
      (_, index) => `W${1_000 + index}: bookshelf ${index}, delivered`,
    );
    const narrative = GOOD_SUMMARY.replace('src/login.ts', rows.join('\n'));
    expect(meter.text(narrative)).toBeGreaterThan(1_300);
    const model = modelOf(() => narrative);
    const orders = Array.from({ length: 60 }, (_, index) => lookUp(index)).flat();
    const compactor = createCompactor({ model, contextWindow: 4_000 });
    const { messages } = await compactor.compact([userMessage('Which of my orders can go back?'), ...orders]);
    expect(model.requests).toHaveLength(1);
    expect(textOf(messages.find(({ kind }) => kind === 'summary') as Message)).toContain(rows.join('\n'));
    expect(meter.messages(messages)).toBeLessThanOrEqual(2_550);
  });
});
