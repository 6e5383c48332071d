import { assistantMessage, type Message, textOf, userMessage } from '@x/core';
import { describe, expect, it } from 'vitest';
import { createCompactor } from '../../src/index.js';
import { SessionRecall } from '../../src/recall/session-recall.js';
import { lines, meter, round, rounds } from '../build.js';
import { scopeOf } from '../scope.js';

/** A session whose older part is summarized, with a new question. */
async function session(behind: readonly Message[] = []) {
  const removed = [
    userMessage('Look at the shop'),
    ...round({ name: 'look_up', output: `The velvet sofa costs 8713 crowns.\n${lines(300)}` }),
    ...rounds(20, () => ({ output: lines(200) })),
  ];
  const compactor = createCompactor({ model: null, contextWindow: 8_000, summary: { record: 0.05 } });
  const { messages } = await compactor.compact(removed);
  const question = userMessage('What does the velvet sofa cost?');
  const scope = scopeOf([...messages, question, ...behind]);
  await scope.log.append([...removed, question, ...behind]);
  return scope;
}

describe('the reminder of a session', () => {
  it('stands in every request until a model has answered, and fits a small free window', async () => {
    const scope = await session();
    const recall = new SessionRecall(undefined);
    const first = await recall.remind(scope, meter, () => 1_500);
    expect(textOf(first as Message)).toContain('The velvet sofa costs 8713 crowns.');
    expect(meter.message(first as Message)).toBeLessThanOrEqual(300);
    expect(await recall.remind(scope, meter, () => 1_500)).toBe(first);
    scope.state.contextMutable().push(assistantMessage('8713 crowns.'));
    expect(await recall.remind(scope, meter, () => 1_500)).toBeUndefined();
  });

  it('reads only what was added after a further compaction', async () => {
    const scope = await session();
    const recall = new SessionRecall(undefined);
    const passes: number[] = [];
    async function* read(from?: string) {
      const pass = passes.push(0) - 1;
      for await (const message of scope.log.read(from)) {
        passes[pass] = (passes[pass] ?? 0) + 1;
        yield message;
      }
    }
    const log = { ...scope.log, read };
    const ask = async (question: string) => {
      const { state } = scopeOf([...scope.state.context, userMessage(question)]);
      return textOf(
        (await recall.remind({ state, log, storage: scope.storage }, meter, () => 1_500)) as Message,
      );
    };
    await ask('And the velvet sofa?');
    const added = rounds(3, () => ({ name: 'look_up', output: 'The teak table costs 4711 crowns.' }));
    await scope.log.append(added);
    scope.state
      .contextMutable()
      .push(userMessage('earlier', { kind: 'synthetic', metadata: { '@x/compaction': { masked: true } } }));
    expect(await ask('And the teak table?')).toContain('4711 crowns');
    expect(passes[0]).toBeGreaterThan(10);
    // The last message of the first pass, and those that were added.
    expect(passes[1]).toBe(1 + added.length);
  });

  it('knows nothing of a session that was deleted, or of another storage', async () => {
    const [old, fresh] = [await session(), await session()];
    const secret = round({ name: 'look_up', output: 'The velvet sofa is hidden in Oslo.' });
    await old.log.append(secret);
    const recall = new SessionRecall(undefined);
    const texts = async (storage: typeof old.storage) => {
      const found = await recall.remind({ ...fresh, storage }, meter, () => 9_000);
      return textOf(found as Message);
    };
    expect(textOf((await recall.remind(old, meter, () => 9_000)) as Message)).toContain('Oslo');
    expect(await texts(old.storage)).not.toContain('Oslo');
    expect(await texts(fresh.storage)).not.toContain('Oslo');
  });

  it('does not appear when a waiting call resumes in another process', async () => {
    const [call, result] = round({ name: 'buy', input: { what: 'sofa' } });
    const scope = await session([call, result]);
    expect(await new SessionRecall(undefined).remind(scope, meter, () => 1_500)).toBeUndefined();
  });
});
