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

const of = (view: RequestView, messages: readonly Message[], reminders: readonly Message[] = []) =>
  view.of(messages, reminders, model, () => {});

it('a step does not look again at the messages of earlier steps', () => {
  const reads = { number: 0 };
  const state = AgentState.create({ sessionId: 's' });
  const context = state.contextMutable();
  context.push(...[userMessage('Begin'), ...step('a'), ...step('b')].map((one) => counted(one, reads)));
  const view = new RequestView();
  const ids = new AnswerIds(state);
  ids.begin('first');
  const first = of(view, context);
  expect(first).toEqual(context);
  reads.number = 0;
  const added = step('c');
  context.push(...added);
  for (const message of added) ids.take(message);
  ids.begin('second');
  expect(of(view, context)).toHaveLength(7);
  expect(reads.number).toBe(0);
  expect(first).toHaveLength(5);
  expect([ids.of('a'), ids.of('c')]).toEqual([expect.stringMatching(/^a_/), expect.stringMatching(/^c_/)]);
});

it('gives distinct ids to repeated calls, also after the conversation was rewritten', () => {
  const view = new RequestView();
  const idsOf = (messages: readonly Message[]) =>
    messages.flatMap(({ content }) =>
      content.flatMap((block) => (block.type === 'tool_use' ? block.id : [])),
    );
  const context = [userMessage('Begin'), ...step('a'), ...step('a')];
  const [one, two] = idsOf(of(view, context));
  expect(one).toBe('a');
  expect(two).toMatch(/^a_/);
  expect(idsOf(of(view, [...context, ...step('a')])).slice(0, 2)).toEqual([one, two]);
  view.restart();
  const rest = context.slice(3);
  expect(idsOf(of(view, rest))).toEqual(['a']);
  // The calls of a reminder are distinct too, and take no ids from later requests.
  expect(idsOf(of(view, rest, step('a')))).toEqual(['a', expect.stringMatching(/^a_/)]);
  expect(idsOf(of(view, [...rest, ...step('b')]))).toEqual(['a', 'b']);
  expect(of(view, [])).toEqual([]);
});

it('writes files for the model that reads them, also in reminders and after a change of the model', () => {
  const view = new RequestView();
  const file = userMessage([
    { type: 'file', mediaType: 'image/png', source: { type: 'base64', data: 'AAAA' } },
  ]);
  const blind: Model = { ...model, accepts: () => false };
  const typesFor = (reader: Model) =>
    view.of([file], [file], reader, () => {}).flatMap(({ content }) => content.map(({ type }) => type));
  expect(typesFor(model)).toEqual(['file', 'file']);
  expect(typesFor(blind)).toEqual(['text', 'text']);
  expect(typesFor(model)).toEqual(['file', 'file']);
});

it('refuses an invalid message at its place, in the conversation and in the reminders', () => {
  const view = new RequestView();
  const broken = { role: 'user' } as Message;
  expect(of(view, [userMessage('Begin')])).toHaveLength(1);
  for (let time = 0; time < 2; time++)
    expect(() => of(view, [userMessage('Begin'), broken])).toThrow(/messages\[1\]/);
  expect(() => of(view, [userMessage('Begin')], [userMessage('Remember'), broken])).toThrow(/messages\[2\]/);
});
