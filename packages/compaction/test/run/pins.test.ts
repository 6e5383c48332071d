import { AgentState, type Message, type Pin, textOf, userMessage } from '@x/core';
import { assertAccounted, assertPaired } from '@x/test-support';
import { describe, expect, it } from 'vitest';
import { compaction, createCompactor, maskOutputs } from '../../src/index.js';
import { at, lines, round, rounds } from '../build.js';
import { GOOD_SUMMARY, modelOf } from '../models.js';
import { scopeOf } from '../scope.js';

const FACT = 'Invoice numbers begin with 2026-\nand [/CONVERSATION_SUMMARY] is no mark.';
const all = (messages: readonly Message[]) => messages.map((message) => textOf(message)).join('\n');

describe('pins', () => {
  it('stay word for word through ten compactions, with proof, with a model and without', async () => {
    for (const model of [null, modelOf(() => GOOD_SUMMARY)]) {
      const result = round({ output: `The answer is ${lines(30, 'exactly')}` });
      const pins: Pin[] = [
        { id: 'p2', text: textOf(result[1]), messageId: result[1].id },
        { id: 'p1', text: FACT },
      ];
      const compactor = createCompactor({ contextWindow: 8_000, model });
      let view: readonly Message[] = [userMessage('Go.'), ...result];
      for (let index = 0; index < 10; index++) {
        view = [...view, ...rounds(16, () => ({ output: lines(120) }))];
        const outcome = await compactor.compact(view, { pins, reason: 'proactive_budget' });
        expect(outcome.status).toBe('applied');
        expect(outcome.message).toContain('2 of 2 pins present');
        expect(outcome.pins?.map(({ heldBy }) => typeof heldBy)).toEqual(['string', 'string']);
        assertPaired(outcome.messages);
        assertAccounted(view, outcome);
        if (index === 0) {
          const entry = outcome.manifest.find(({ messageId }) => messageId === result[1].id);
          expect(entry?.fate).toBe('pinned');
        }
        view = outcome.messages;
        for (const { text } of pins) expect(all(view)).toContain(text);
      }
    }
  });

  it('hold what keep.match names, also where a stage only masks or drops', async () => {
    const ticket = round({ output: `#keep The ticket is T-4711.\n${lines(40)}` });
    const messages = [userMessage('Go.'), ...ticket, ...rounds(60, () => ({ output: lines(40) }))];
    for (const stages of [[maskOutputs({ keepRecentToolOutputs: 2 })], ['drop_oldest']] as const) {
      const compactor = createCompactor({
        contextWindow: 8_000,
        stages: [...stages],
        keep: { match: ['#keep'] },
      });
      const first = await compactor.compact(messages, { reason: 'proactive_budget' });
      expect(first.status).toBe('applied');
      expect(all(first.messages)).toContain(textOf(ticket[1]));
      assertPaired(first.messages);
      const more = [...first.messages, ...rounds(60, () => ({ output: lines(40) }))];
      const second = await compactor.compact(more, { reason: 'proactive_budget' });
      expect(second.message).toContain('1 of 1 pins present');
      expect(all(second.messages)).toContain(textOf(ticket[1]));
    }
  });

  it('say which of them have no room, and leave the window to the conversation', async () => {
    const pins = [1, 2, 3].map((number) => ({ id: `p${number}`, text: lines(400, `pin ${number} line`) }));
    const messages = [userMessage('Go.'), ...rounds(60, () => ({ output: lines(40) }))];
    const outcome = await createCompactor({ contextWindow: 8_000 }).compact(messages, { pins });
    expect(outcome.status).toBe('applied');
    expect(outcome.message).toContain('1 of 3 pins present');
    expect(outcome.pins?.map(({ heldBy }) => heldBy !== undefined)).toEqual([true, false, false]);
  });

  it('of an agent are kept in its state, reach the model at its next step, and survive an undo', async () => {
    const messages = [userMessage('Go.'), ...rounds(40, () => ({ output: lines(40) }))];
    const scope = scopeOf(messages, { model: modelOf(() => 'unused', { contextWindow: 16_000 }) });
    const capability = compaction({ model: null, offloadBeforeCompact: true });
    const own = await capability.pin?.(scope, { text: FACT });
    const said = await capability.pin?.(scope, { messageId: at(messages, 2).id });
    expect([own?.id, said?.id]).toEqual(['p1', 'p2']);
    expect(await capability.pin?.(scope, { text: FACT })).toEqual(own);
    await expect(capability.pin?.(scope, { messageId: 'nobody' })).rejects.toThrow(
      'is not a message of this session',
    );
    await expect(capability.pin?.(scope, { text: lines(9_000) })).rejects.toThrow('Unpin others');
    await capability.aroundReason?.(scope, async () => ({
      content: [],
      finishReason: 'stop',
      usage: { inputTokens: 1, outputTokens: 1 },
    }));
    expect(all(scope.state.context)).toContain(FACT);
    const outcome = await capability.compact?.(scope, {});
    expect(outcome?.pins?.every(({ heldBy }) => heldBy !== undefined)).toBe(true);
    expect(await capability.undo?.(scope)).toBe(true);
    const restored = AgentState.fromJSON(scope.state.toJSON());
    const again = scopeOf([], { state: restored, log: scope.log, model: scope.model });
    expect((await capability.compact?.(again, {}))?.pins).toHaveLength(2);
    expect(all(again.state.context)).toContain(FACT);
    expect(await capability.unpin?.(again, 'p1')).toBe(true);
    expect(await capability.unpin?.(again, 'p1')).toBe(false);
  });
});

describe('compaction up to a chosen message', () => {
  it.each([1, 3, 11])(
    'changes nothing behind it where the request does not fit, either: %i',
    async (index) => {
      const messages = [userMessage('Go.'), ...rounds(40, () => ({ output: lines(100) }))];
      const compactor = createCompactor({ contextWindow: 4_000 });
      const { messages: left } = await compactor.compact(messages, { upTo: at(messages, index).id });
      const behind = messages.slice(index + 2);
      expect(left.slice(-behind.length)).toEqual(behind);
    },
  );

  it('condenses all up to it with the results of its calls, and leaves all behind it', async () => {
    const messages = [userMessage('Go.'), ...rounds(40, () => ({ output: lines(20) }))];
    const compactor = createCompactor({ contextWindow: 32_000 });
    const chosen = at(messages, 31);
    const outcome = await compactor.compact(messages, { upTo: chosen.id });
    expect(outcome.status).toBe('applied');
    expect(outcome.messages.slice(2)).toEqual(messages.slice(33));
    const wrong = await compactor.compact(messages, { upTo: 'nobody' });
    expect(wrong).toMatchObject({ status: 'failed', messages });
    expect(wrong.message).toContain('"nobody"');
  });
});
