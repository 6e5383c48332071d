import { compaction } from '@x/compaction';
import {
  defineTool,
  InMemorySession,
  type Model,
  ModelError,
  RuntimeContext,
  SessionStoreError,
  textOf,
  userMessage,
} from '@x/core';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { HarnessAgent, type Reply } from '../../src/index.js';
import { scratch } from '../support.js';

const context = RuntimeContext.of({ userId: 'u', sessionId: 's' });
const PROCESSES = 2;

type Fate =
  | 'well'
  | 'model fails'
  | 'fails behind the tool'
  | 'interrupted in the tool'
  | 'commits are refused';

type Step =
  | {
      readonly type: 'say';
      readonly fate: Fate;
      readonly form: 'text' | 'message' | 'own id';
      readonly process: number;
    }
  | { readonly type: 'repeat'; readonly fate: Fate; readonly which: number; readonly process: number }
  | { readonly type: 'unnamed'; readonly fate: Fate; readonly process: number }
  | { readonly type: 'steered'; readonly fate: Fate; readonly process: number }
  | { readonly type: 'compact'; readonly process: number };

const fate = fc.constantFrom<Fate>(
  'well',
  'well',
  'model fails',
  'fails behind the tool',
  'interrupted in the tool',
  'commits are refused',
);
const process = fc.nat({ max: PROCESSES - 1 });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant('say'),
      fate,
      form: fc.constantFrom('text', 'message', 'own id'),
      process,
    }),
  },
  { weight: 4, arbitrary: fc.record({ type: fc.constant('repeat'), fate, which: fc.nat(), process }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constantFrom('unnamed', 'steered'), fate, process }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('compact'), process }) },
) as fc.Arbitrary<Step>;

/** A session of several processes, whose model pays each time that it is told to. */
function bank() {
  const paid = new Map<string, number>();
  /** What was added to the conversation, and not yet paid. */
  const said = new Set<string>();
  const refusing = { now: false };
  let present: Fate = 'well';
  let onStep: ((index: number) => void) | undefined;

  class Refusing extends InMemorySession {
    override async commit(...args: Parameters<InMemorySession['commit']>): Promise<number> {
      if (refusing.now) throw new SessionStoreError('session_unavailable', 'Down.', { outcome: 'none' });
      return super.commit(...args);
    }
  }

  const model: Model = {
    id: 'test',
    contextWindow: 6_000,
    async generate({ messages }) {
      const isBehindTool = messages.at(-1)?.role === 'tool';
      onStep?.(isBehindTool ? 1 : 0);
      if (present === 'model fails' || (present === 'fails behind the tool' && isBehindTool))
        throw new ModelError('No.', { retryable: false });
      const last = messages.findLastIndex(({ role }) => role !== 'user');
      // A compaction keeps what users said in front of what it removes.
      const asked = messages.slice(last + 1).flatMap((message) => {
        const id = textOf(message).match(/^PAY (\S+)/)?.[1];
        return id !== undefined && said.delete(id) ? [id] : [];
      });
      const content = asked.map((id, index) => ({
        type: 'tool_use' as const,
        id: `pay-${id}-${index}`,
        name: 'pay',
        input: { id },
      }));
      if (content.length > 0) return { content, finishReason: 'tool-calls' };
      return { content: [{ type: 'text', text: `ok ${Math.random()}` }], finishReason: 'stop' };
    },
  };
  const pay = defineTool({
    name: 'pay',
    description: 'Pays',
    input: z.object({ id: z.string() }),
    execute({ id }) {
      paid.set(id, (paid.get(id) ?? 0) + 1);
      if (present === 'interrupted in the tool') for (const agent of agents) agent.interrupt(context);
      return 'paid';
    },
  });
  const [workspace, store] = [scratch(), new Refusing()];
  const agents = Array.from({ length: PROCESSES }, () =>
    HarnessAgent.builder()
      .model(model)
      .tools(pay)
      .workspace(workspace)
      .session(store)
      .use(compaction({ model: null }))
      .onEvent((event) => {
        if (event.type !== 'message.added' || event.message.role !== 'user') return;
        const id = textOf(event.message).match(/^PAY (\S+)/)?.[1];
        if (id !== undefined) said.add(id);
      })
      .build(),
  );
  return {
    agents,
    paid,
    async during<Result>(fate: Fate, work: () => Promise<Result>, atStep?: (index: number) => void) {
      present = fate;
      refusing.now = fate === 'commits are refused';
      onStep = atStep;
      try {
        return await work();
      } catch (error) {
        const { code } = error as { code?: string };
        const isMeant =
          fate !== 'well' && ['model', 'session_unavailable'].some((it) => code?.startsWith(it));
        if (!isMeant) throw error;
        return undefined;
      } finally {
        present = 'well';
        refusing.now = false;
        onStep = undefined;
      }
    },
  };
}

const PADDING = ' lorem ipsum dolor sit amet'.repeat(60);

it('a call with an id pays once at most, and has one reply for ever, whatever comes between', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 40 }), async (steps) => {
      const { agents, paid, during } = bank();
      const calls: { readonly id: string; readonly say: (agent: HarnessAgent) => Promise<Reply> }[] = [];
      const replies = new Map<string, Pick<Reply, 'stopReason' | 'text'>>();
      const remember = (id: string, reply: Reply | undefined) => {
        if (reply === undefined || reply.stopReason === 'interrupted') return;
        const { stopReason, text } = reply;
        expect(['completed', 'superseded']).toContain(stopReason);
        expect({ stopReason, text }).toEqual(replies.get(id) ?? { stopReason, text });
        replies.set(id, { stopReason, text });
      };
      const begin = (form: 'text' | 'message' | 'own id') => {
        const id = `c${calls.length}`;
        const text = `PAY ${id}${PADDING}`;
        const say = {
          text: (agent: HarnessAgent) => agent.call(text, context, { id }),
          message: (agent: HarnessAgent) => agent.call(userMessage(text, { id }), context),
          'own id': (agent: HarnessAgent) => agent.call(userMessage(text), context, { id }),
        }[form];
        calls.push({ id, say });
        return { id, say, text };
      };
      for (const each of steps) {
        const agent = agents[each.process] as HarnessAgent;
        if (each.type === 'compact') await agent.compact(context);
        else if (each.type === 'unnamed')
          await during(each.fate, () => agent.call(`Hello${PADDING}`, context));
        else if (each.type === 'steered') {
          const { id, text } = begin('message');
          const message = userMessage(text, { id });
          const steered: Promise<boolean>[] = [];
          await during(
            each.fate,
            () => agent.call(`Hello${PADDING}`, context),
            () => steered.push(agent.steer(context, message)),
          );
          await Promise.all(steered);
        } else if (each.type === 'say') {
          const { id, say } = begin(each.form);
          remember(id, await during(each.fate, () => say(agent)));
        } else if (calls.length > 0) {
          const { id, say } = calls[each.which % calls.length] as (typeof calls)[number];
          remember(id, await during(each.fate, () => say(agent)));
        }
      }
      for (const agent of agents) {
        for (const { id, say } of calls) remember(id, await during('well', () => say(agent)));
      }
      expect(replies.size).toBe(calls.length);
      for (const [id, times] of paid) expect(times, id).toBe(1);
      await Promise.all(agents.map((agent) => agent.close()));
    }),
    { numRuns: 40 },
  );
}, 120_000);
