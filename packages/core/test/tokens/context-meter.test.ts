import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Message, userMessage } from '../../src/index.js';
import { ContextMeter } from '../../src/internal.js';
import { countRequest } from '../../src/messages.js';

/** Counts words, and how often it was asked to. */
function counter() {
  const asked = { name: 'words', asked: 0, count: (text: string) => text.split(' ').length };
  const { count } = asked;
  asked.count = (text) => {
    asked.asked++;
    return count(text);
  };
  return asked;
}

const messageArb = fc
  .record({
    text: fc.string(),
    role: fc.constantFrom('user', 'assistant', 'tool'),
    isSummary: fc.boolean(),
  })
  .map(
    ({ text, role, isSummary }): Message => ({
      ...userMessage(text, isSummary ? { kind: 'summary' } : {}),
      role: role as Message['role'],
    }),
  );
/** What may happen to a conversation between two steps. */
const changeArb = fc.oneof(
  fc.record({ type: fc.constant('append' as const), messages: fc.array(messageArb, { maxLength: 4 }) }),
  fc.record({ type: fc.constant('replace' as const), at: fc.nat(), message: messageArb }),
  fc.record({ type: fc.constant('cut' as const), at: fc.nat() }),
);
const frameArb = fc.record({ system: fc.string(), reminders: fc.array(messageArb, { maxLength: 2 }) });

describe('the measure of what fills the window', () => {
  it('is that of a fresh count, whatever happened to the conversation between two steps', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(changeArb, frameArb)), (steps) => {
        const words = counter();
        const meter = new ContextMeter(words);
        const context: Message[] = [];
        for (const [change, frame] of steps) {
          if (change.type === 'append') context.push(...change.messages);
          else if (change.type === 'cut') context.length = change.at % (context.length + 1);
          else if (context.length > 0) context[change.at % context.length] = change.message;
          const { total, contextWindow, ...parts } = meter.measure({ ...frame, context, contextWindow: 9 });
          const messages = [...context, ...frame.reminders];
          expect(total).toBe(countRequest(words, { system: frame.system, messages }));
          expect(Object.values(parts).reduce((sum, part) => sum + part, 0)).toBe(total);
          expect(contextWindow).toBe(9);
          expect(meter.conversation(context)).toBe(countRequest(words, { messages: context }));
        }
      }),
    );
  });

  it('tells summaries, results and the rest of the conversation apart', () => {
    const context = [
      userMessage('so far so good', { kind: 'summary' }),
      userMessage('go on'),
      { ...userMessage('one two three'), role: 'tool' as const },
    ];
    const { summary, conversation, toolResults } = new ContextMeter(counter()).measure({ context });
    expect([summary, conversation, toolResults]).toEqual([8, 6, 7]);
  });

  it('counts and tells each part once, as long as it only grows', () => {
    const words = counter();
    const told: Message[] = [];
    const meter = new ContextMeter(words, (message) => told.push(message));
    const tools = [{ name: 'look', description: 'Looks', inputSchema: { type: 'object' } }] as const;
    const context = [userMessage('one')];
    meter.measure({ system: 'Be good.', tools, context });
    const { asked } = words;
    context.push(userMessage('two'));
    meter.measure({ system: 'Be good.', tools, context });
    expect(words.asked).toBe(asked + 1);
    expect(told).toEqual(context);
    meter.measure({ system: 'Be better.', tools, context });
    expect(words.asked).toBe(asked + 2);
  });
});
