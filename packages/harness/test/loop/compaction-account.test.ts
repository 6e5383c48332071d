import { compaction } from '@x/compaction';
import {
  type AgentEvent,
  compactionCostOf,
  InMemorySession,
  type Model,
  type ModelResponse,
  RuntimeContext,
} from '@x/core';
import { describe, expect, it, vi } from 'vitest';
import { budget, HarnessAgent } from '../../src/index.js';
import { scratch } from '../support.js';

const context = RuntimeContext.of({ userId: 'u', sessionId: 's' });
const SUMMARY = [
  '## SESSION INTENT',
  'The user asks what else there is, again and again.',
  '## SUMMARY',
  'Each question was answered: we talked and talked about all of it, and nothing was decided.',
  '## ARTIFACTS',
  'None',
  '## NEXT STEPS',
  'Answer the next question of the user.',
].join('\n');
const PRICES = { '*': { input: 1_000, output: 1_000 } };

/** An agent that chats at length; `write` answers with its summaries. */
function chatAgent(write: () => Promise<string>, limits: Parameters<typeof budget>[0] | undefined) {
  const events: AgentEvent[] = [];
  const model: Model = {
    id: 'chatty',
    contextWindow: 8_000,
    async generate(): Promise<ModelResponse> {
      const text = 'We talk and talk about all of it. '.repeat(60);
      return { content: [{ type: 'text', text }], finishReason: 'stop' };
    },
  };
  const writer: Model = {
    id: 'writer',
    contextWindow: 100_000,
    async generate(): Promise<ModelResponse> {
      const usage = { inputTokens: 400, outputTokens: 100 };
      return { content: [{ type: 'text', text: await write() }], finishReason: 'stop', usage };
    },
  };
  const builder = HarnessAgent.builder()
    .name('chat')
    .model(model)
    .use(compaction({ model: writer, summary: { waitMs: 0 } }))
    .session(new InMemorySession())
    .workspace(scratch())
    .onEvent((event) => void events.push(event));
  if (limits) builder.use(budget(limits));
  const agent = builder.build();
  const ofType = <Type extends AgentEvent['type']>(type: Type) =>
    events.filter((event): event is Extract<AgentEvent, { type: Type }> => event.type === type);
  const chat = async () => agent.call('And what else?', context);
  const cost = async () => compactionCostOf((await agent.state(context)) ?? { extensions: {} });
  return { agent, chat, cost, ofType };
}

describe('what compactions cost', () => {
  it('is in the reply, the events, the state and the listing, with what was saved since', async () => {
    const { agent, chat, cost, ofType } = chatAgent(async () => SUMMARY, {
      maxCostPerSession: 1_000,
      prices: PRICES,
    });
    let reply = await chat();
    expect(reply.compaction).toBeUndefined();
    expect(await cost()).toEqual({ modelCalls: 0, inputTokens: 0, outputTokens: 0, savedTokens: 0 });
    while (ofType('context.compacted').length === 0) reply = await chat();
    const [compacted] = ofType('context.compacted');
    const removed = (compacted?.tokensBefore ?? 0) - (compacted?.tokensAfter ?? 0);
    const paid = { modelCalls: 1, inputTokens: 400, outputTokens: 100, cost: 0.5 };
    expect(compacted).toMatchObject({
      modelCalls: 1,
      usage: { inputTokens: 400, outputTokens: 100 },
      cost: 0.5,
    });
    expect(reply.compaction?.savedTokens).toBe(removed);
    expect(ofType('call.completed').at(-1)?.compaction).toEqual(reply.compaction);
    expect(await cost()).toEqual({ ...paid, savedTokens: removed });

    // Each request saves as much again, also in another call.
    expect((await chat()).compaction).toEqual({
      modelCalls: 0,
      inputTokens: 0,
      outputTokens: 0,
      savedTokens: removed,
    });
    expect(await cost()).toEqual({ ...paid, savedTokens: removed * 2 });
    await agent.undo(context);
    const { extensions } = (await agent.state(context)) ?? {};
    expect(extensions?.compaction?.counters).toMatchObject({ savedTokens: removed * 2, removedTokens: 0 });
    await agent.close();
  });

  it('is counted at the next call when a model answers after its own, and has no price where none is known', async () => {
    const answers: ((text: string) => void)[] = [];
    const { agent, chat, cost, ofType } = chatAgent(
      () => new Promise((resolve) => answers.push(resolve)),
      undefined,
    );
    while (ofType('context.compacted').length === 0) await chat();
    expect(ofType('context.compacted')[0]?.usage).toBeUndefined();
    expect(await cost()).toMatchObject({ modelCalls: 0 });
    answers[0]?.(SUMMARY);
    await vi.waitFor(() => expect(ofType('usage.reported')).toHaveLength(1));
    expect(await cost()).toMatchObject({ modelCalls: 0 });
    const { savedTokens: before } = await cost();
    await chat();
    const [narrated] = ofType('context.narrated');
    expect(narrated).toMatchObject({ modelCalls: 1, usage: { inputTokens: 400, outputTokens: 100 } });
    expect(narrated?.context?.total).toBeGreaterThan(0);
    expect(await cost()).toMatchObject({ modelCalls: 1, inputTokens: 400, outputTokens: 100 });
    expect(await cost()).not.toHaveProperty('cost');
    const [compacted] = ofType('context.compacted');
    const removed = (compacted?.tokensBefore ?? 0) - (compacted?.tokensAfter ?? 0);
    expect((await cost()).savedTokens - before).toBe(removed - (narrated?.tokens ?? 0));
    await agent.close();
  });

  it('does not wait for a model that hangs, neither in a call nor when the agent closes', async () => {
    const { agent, chat, ofType } = chatAgent(() => new Promise(() => {}), undefined);
    while (ofType('context.compacted').length < 3) await chat();
    expect(ofType('context.compacted').map(({ status }) => status)).toEqual(Array(3).fill('applied'));
    await agent.close();
  });
});
