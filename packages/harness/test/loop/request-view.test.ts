import {
  AgentState,
  assistantMessage,
  type Message,
  type Model,
  toolResultMessage,
  userMessage,
} from '@x/core';
import { expect, it } from 'vitest';
import { AnswerIds } from '../../src/loop/answer-ids.js';
import { RequestView } from '../../src/loop/request-view.js';

const model: Model = { id: 'reader', generate: () => Promise.reject(new Error('not called')) };
const step = (id: string): readonly Message[] => [
  assistantMessage([{ type: 'tool_use', id, name: 'look', input: {} }]),
  toolResultMessage({ id, name: 'look' }, 'seen'),
];

/** Counts how often the content of a message is read. */
function counted(message: Message, reads: { number: number }): Message {
  return new Proxy(message, {
    get(target, key) {
      if (key === 'content') reads.number++;
      return Reflect.get(target, key);
    },
  });
}

it('a step does not look again at the messages of earlier steps', () => {
  const reads = { number: 0 };
  const state = AgentState.create({ sessionId: 's' });
  const context = state.contextMutable();
  context.push(...[userMessage('Begin'), ...step('a'), ...step('b')].map((one) => counted(one, reads)));
  const view = new RequestView(model, () => {});
  const ids = new AnswerIds(state);
  ids.begin('first');
  const first = view.of(context, []);
  expect(first).toEqual(context);
  reads.number = 0;
  context.push(...step('c'));
  ids.begin('second');
  expect(view.of(context, [])).toHaveLength(7);
  expect(reads.number).toBe(0);
  expect(first).toHaveLength(5);
  expect(ids.of('a')).toMatch(/^a_/);
});

it('gives distinct ids to repeated calls, also after the conversation was rewritten', () => {
  const view = new RequestView(model, () => {});
  const idsOf = (messages: readonly Message[]) =>
    messages.flatMap(({ content }) =>
      content.flatMap((block) => (block.type === 'tool_use' ? block.id : [])),
    );
  const context = [userMessage('Begin'), ...step('a'), ...step('a')];
  const [one, two] = idsOf(view.of(context, []));
  expect(one).toBe('a');
  expect(two).toMatch(/^a_/);
  expect(idsOf(view.of([...context, ...step('a')], [])).slice(0, 2)).toEqual([one, two]);
  expect(idsOf(view.of(context.slice(3), []))).toEqual(['a']);
  // The calls of a reminder are distinct too, and take no ids from later requests.
  expect(idsOf(view.of(context.slice(3), step('a')))).toEqual(['a', expect.stringMatching(/^a_/)]);
  expect(idsOf(view.of([...context.slice(3), ...step('b')], []))).toEqual(['a', 'b']);
});

it('refuses an invalid message at its place, in the conversation and in the reminders', () => {
  const view = new RequestView(model, () => {});
  const broken = { role: 'user' } as Message;
  expect(view.of([userMessage('Begin')], [])).toHaveLength(1);
  for (let time = 0; time < 2; time++)
    expect(() => view.of([userMessage('Begin'), broken], [])).toThrow(/messages\[1\]/);
  expect(() => view.of([userMessage('Begin')], [userMessage('Remember'), broken])).toThrow(/messages\[2\]/);
});
