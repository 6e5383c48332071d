import { toolUsesOf, userMessage } from '@x/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { truncateArgs } from '../../src/index.js';
import { at, budgetOf, reduceWith, round, rounds, viewOf } from '../build.js';

const long = 'x'.repeat(5_000);
const written = (content: string) =>
  round({ name: 'write_file', input: { path: 'a.ts', content, lines: 3 } });

describe('truncateArgs', () => {
  it('cuts long strings of old calls and leaves names, other values and the newest calls alone', async () => {
    const messages = [...written(long), ...rounds(10), ...written(long)];
    const { messages: after, fates } = await reduceWith(truncateArgs({ keepMessages: 4 }), messages);

    const [old] = toolUsesOf(at(after, 0));
    expect(old?.input).toMatchObject({ path: 'a.ts', lines: 3 });
    const content = String((old?.input as { content?: string } | undefined)?.content);
    expect(content).toContain('... [truncated] ...');
    expect(content).toHaveLength(2_000);
    expect(after.at(-2)).toBe(messages.at(-2));
    expect(fates).toEqual([{ messageId: messages[0]?.id, fate: 'truncated' }]);
    expect(after.map((message) => message.id)).toEqual(messages.map((message) => message.id));
  });

  it('cuts inside nested values and keeps a key like __proto__ a key', async () => {
    const input = JSON.parse(`{"edits":[{"new":"${long}"}],"__proto__":"${long}"}`);
    const messages = [...round({ input }), ...rounds(2)];
    const { messages: after } = await reduceWith(truncateArgs({ keepMessages: 0 }), messages);
    const changed = toolUsesOf(at(after, 0))[0]?.input;
    expect(JSON.stringify(changed).length).toBeLessThan(4_200);
    expect(Object.keys(changed as object)).toEqual(['edits', '__proto__']);
  });

  it('never touches the call that is being worked on', async () => {
    const messages = [userMessage('write it'), ...written(long)];
    const { messages: after } = await reduceWith(truncateArgs({ keepMessages: 0 }), messages);
    expect(after).toBe(messages);
  });

  it('changes nothing the second time', async () => {
    const messages = [...written(long), ...rounds(2)];
    const stage = truncateArgs({ keepMessages: 2 });
    const once = await reduceWith(stage, messages);
    const twice = await reduceWith(stage, once.messages);
    expect(twice.messages).toBe(once.messages);
  });

  it('waits until it saves enough, unless it is forced', async () => {
    const messages = [...written('x'.repeat(2_200)), ...rounds(4, () => ({ output: 'y '.repeat(20_000) }))];
    const patient = await reduceWith(truncateArgs({ keepMessages: 2 }), messages, { forced: false });
    expect(patient.messages).toBe(messages);
    expect(patient.note).toContain('not worth a rewrite yet');
    const forced = await reduceWith(truncateArgs({ keepMessages: 2 }), messages);
    expect(forced.messages).not.toBe(messages);
  });

  it('runs early by triggers of its own, where they are named', () => {
    const { isDueEarly } = truncateArgs({ triggerMessages: 25, triggerTokens: 40_000 });
    expect(isDueEarly?.(viewOf(rounds(12)), budgetOf())).toBe(false);
    expect(isDueEarly?.(viewOf(rounds(13)), budgetOf())).toBe(true);
    expect(isDueEarly?.(viewOf(rounds(1, () => ({ output: 'word '.repeat(50_000) }))), budgetOf())).toBe(
      true,
    );
    expect(truncateArgs().isDueEarly?.(viewOf(rounds(50)), budgetOf())).toBe(false);
  });

  it('cuts down to a lower mark in one go where tokens alone make it due, or waits', async () => {
    const options = { triggerMessages: 0, triggerTokens: 40_000, keepMessages: 4 };
    const early = { early: true, forced: false };
    const written = (count: number) =>
      rounds(count, () => ({ name: 'write_file', input: { path: 'a', content: 'word '.repeat(9_000) } }));
    // One argument in front of newest messages that fill the rest: cutting it alone waits.
    const large = rounds(2, () => ({ output: 'word '.repeat(16_400) }));
    const patient = [...written(1), ...large];
    const waits = await reduceWith(truncateArgs(options), patient, early);
    expect(waits.messages).toBe(patient);
    expect(waits.note).toContain('cuts only once that leaves at most 32000');
    const enough = await reduceWith(truncateArgs(options), [...written(5), ...rounds(2)], early);
    expect(enough.fates).toHaveLength(5);
  });

  it('never exceeds the limit nor splits a surrogate pair', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.string({ unit: 'grapheme', minLength: 30, maxLength: 300 }),
        fc.integer({ min: 21, max: 60 }),
        async (content, most) => {
          const messages = [...written(content.repeat(3)), ...rounds(1)];
          const stage = truncateArgs({ keepMessages: 1, maxArgLength: most });
          const { messages: after } = await reduceWith(stage, messages);
          if (after === messages) return;
          const input = toolUsesOf(at(after, 0))[0]?.input as { content: string };
          expect(input.content.length).toBeLessThanOrEqual(most);
          expect(() => encodeURIComponent(input.content)).not.toThrow();
        },
      ),
    );
  });

  it('refuses options that cannot work', () => {
    expect(() => truncateArgs({ maxArgLength: 5 })).toThrow(/maxArgLength/);
    expect(() => truncateArgs({ maxArgLenght: 5 } as never)).toThrow(/maxArgLenght/);
  });
});
