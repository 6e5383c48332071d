import { AIMessage, type BaseMessage, HumanMessage, RemoveMessage } from '@langchain/core/messages';
import { MemorySaver } from '@langchain/langgraph';
import { compactionMiddleware } from '@x/langchain';
import {
  createAgent,
  createMiddleware,
  fakeModel,
  type ProviderStrategy,
  providerStrategy,
  toolStrategy,
} from 'langchain';
import { expect, it } from 'vitest';
import { z } from 'zod';

const tooLong = Object.assign(new Error('prompt is too long: 213462 tokens > 200000 maximum'), {
  status: 400,
});
const answer = (messages: BaseMessage[]) => (messages.length <= 30 ? new AIMessage('Fits.') : tooLong);

/** A conversation whose ids are counted per thread, as applications do. */
const said = (who: string, count = 40) =>
  Array.from({ length: count }, (_, at) => {
    const fields = { id: String(at), content: `${who} says ${at}. ${'More of it. '.repeat(20)}` };
    return at % 2 === 0 ? new HumanMessage(fields) : new AIMessage(fields);
  });

function agentWith(...others: unknown[]) {
  const model = fakeModel();
  for (let call = 0; call < 12; call++) model.respond(answer);
  const compaction = compactionMiddleware({ trigger: { messages: 1_000 }, keep: { messages: 6 } });
  const agent = createAgent({
    model,
    tools: [],
    // LangChain's own types do not hold under exactOptionalPropertyTypes.
    middleware: [...others, compaction] as unknown as [typeof compaction],
    checkpointer: new MemorySaver(),
  });
  const thread = (id: string) => ({ configurable: { thread_id: id } });
  return { agent, model, thread };
}

const textOf = (messages: readonly BaseMessage[]) => messages.map(({ text }) => text).join('\n');

it('keeps two threads with equal message ids apart, although the first one overflows', async () => {
  const { agent, model, thread } = agentWith();
  const alice = await agent.invoke({ messages: said('Alice', 41) }, thread('alice'));
  expect(alice.messages.length).toBeLessThan(20);
  const bobs = said('Bob', 20);
  await agent.invoke({ messages: bobs }, thread('bob'));
  const bob = await agent.invoke(
    { messages: [new HumanMessage({ id: '40', content: 'On' })] },
    thread('bob'),
  );
  expect(bob.messages.slice(0, 20).map(({ text }) => text)).toEqual(bobs.map(({ text }) => text));
  for (const { messages } of model.calls.slice(2)) expect(textOf(messages)).not.toContain('Alice');
  const stored = await agent.graph.getState(thread('bob'));
  expect(JSON.stringify(stored.values)).not.toContain('Alice');
});

it('takes the reduction of an overflow over into the state, so that the next call sends it at once', async () => {
  const { agent, model, thread } = agentWith();
  const first = await agent.invoke({ messages: said('Alice', 41) }, thread('a'));
  expect(model.calls).toHaveLength(2);
  // What was sent is what the state holds, in the same order, with the answer behind it.
  expect(first.messages.map(({ text }) => text)).toEqual([
    ...(model.calls[1]?.messages ?? []).map(({ text }) => text),
    'Fits.',
  ]);
  const second = await agent.invoke({ messages: [new HumanMessage('On')] }, thread('a'));
  expect(model.calls).toHaveLength(3);
  expect(second.messages.slice(0, first.messages.length).map(({ id }) => id)).toEqual(
    first.messages.map(({ id }) => id),
  );
});

it.each([
  ['provider', providerStrategy, new AIMessage('{"city":"Bern"}')],
  [
    'tool',
    toolStrategy,
    new AIMessage({ content: '', tool_calls: [{ id: 'c', name: 'place', args: { city: 'Bern' } }] }),
  ],
])(
  'takes the reduction over into the state with a structured answer of the %s',
  async (_, strategy, fits) => {
    const model = fakeModel();
    for (let call = 0; call < 3; call++)
      model.respond((messages) => (messages.length <= 30 ? fits : tooLong));
    const schema = z.toJSONSchema(z.object({ city: z.string() }).meta({ title: 'place' }));
    const agent = createAgent({
      model,
      tools: [],
      middleware: [compactionMiddleware({ keep: { messages: 6 } })],
      responseFormat: strategy(schema) as ProviderStrategy,
      checkpointer: new MemorySaver(),
    });
    const thread = { configurable: { thread_id: 'a' } };
    const first = await agent.invoke({ messages: said('Alice', 41) }, thread);
    expect(first.structuredResponse).toEqual({ city: 'Bern' });
    expect(first.messages.length).toBeLessThan(20);
    const second = await agent.invoke({ messages: [new HumanMessage('On')] }, thread);
    expect(second.structuredResponse).toEqual({ city: 'Bern' });
    expect(model.calls).toHaveLength(3);
  },
);

it('leaves out of the state what other middleware adds to one request or changes in it', async () => {
  const reminding = createMiddleware({
    name: 'Reminding',
    wrapModelCall: (request, handler) => {
      const [first, ...others] = request.messages;
      const hidden = new HumanMessage({ id: first?.id as string, content: 'REDACTED' });
      const reminder = new HumanMessage({ id: 'reminder', content: 'SECRET of this request' });
      return handler({ ...request, messages: [hidden, ...others, reminder] });
    },
  });
  const { agent, model, thread } = agentWith(reminding);
  const { messages } = await agent.invoke({ messages: said('Alice', 41) }, thread('a'));
  const sent = model.calls[1]?.messages ?? [];
  expect(sent.at(-1)?.text).toBe('SECRET of this request');
  expect(sent.at(-2)?.text).toContain('Alice says 40');
  expect(textOf(messages)).not.toContain('SECRET');
  const stored = await agent.graph.getState(thread('a'));
  expect(JSON.stringify(stored.values)).not.toContain('SECRET');
});

it('never brings a message back that the application removed after the overflow', async () => {
  const { agent, thread } = agentWith();
  const first = await agent.invoke({ messages: said('Alice', 41) }, thread('a'));
  const victim = first.messages.find(({ text }) => text.includes('Alice says 38')) as BaseMessage;
  const { messages } = await agent.invoke(
    { messages: [new RemoveMessage({ id: victim.id as string }), new HumanMessage('On')] },
    thread('a'),
  );
  expect(textOf(messages)).not.toContain('Alice says 38');
});

it('reads a message anew whose content the application replaced in place', async () => {
  const { model } = agentWith();
  const messages = said('Alice', 41);
  const agent = createAgent({
    model,
    tools: [],
    middleware: [compactionMiddleware({ trigger: { messages: 40 }, keep: { messages: 6 } })],
  });
  await agent.invoke({ messages });
  for (const message of messages) message.content = `Redacted ${message.id}. ${'x '.repeat(60)}`;
  const second = await agent.invoke({ messages });
  expect(textOf(second.messages)).not.toContain('Alice');
  expect(second.messages.length).toBeLessThan(20);
});
