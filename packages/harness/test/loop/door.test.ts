import {
  type Capability,
  defineTool,
  InMemorySession,
  type Message,
  type Model,
  RuntimeContext,
  type SessionKey,
  type Tool,
  textOf,
  toolResultsOf,
  userMessage,
} from '@x/core';
import { FINISH_REASONS } from '@x/core/internal';
import type { StoredSession } from '@x/core/store';
import { type ScriptEntry, ScriptedModel } from '@x/testkit';
import { describe, expect, it } from 'vitest';
import { type CallInput, HarnessAgent, permissions } from '../../src/index.js';
import { scratch } from '../support.js';

const context = RuntimeContext.of({ sessionId: 's' });
const CALL: ScriptEntry = { toolCalls: [{ name: 'odd', input: {} }] };

function builder(model: Model) {
  return HarnessAgent.builder().model(model).workspace(scratch()).settings({ maxRetries: 0 });
}

async function opens(agent: HarnessAgent): Promise<readonly Message[]> {
  return (await agent.state(context))?.context ?? [];
}

describe('what does not pass the door', () => {
  it.each([
    [undefined, 'returned no content'],
    [{ finishReason: 'stop' }, 'returned no content'],
    [{ content: 'hello', finishReason: 'stop' }, 'returned content that is not a list of blocks'],
    [{ content: [] }, `returned no finishReason, which must be one of ${FINISH_REASONS.join(', ')}`],
    [
      { content: [], finishReason: 5n },
      `returned no finishReason, which must be one of ${FINISH_REASONS.join(', ')}`,
    ],
    [
      { content: [{ type: 'tool_use', id: 'c', name: 'write', input: {} }], finishReason: 'max_tokens' },
      `returned the finishReason "max_tokens", which must be one of ${FINISH_REASONS.join(', ')}`,
    ],
  ])('of a model that answers %s says what to answer, and asks once', async (answer, message) => {
    let asked = 0;
    const generate = async () => {
      asked++;
      return answer as never;
    };
    const agent = builder({ id: 'mine', generate }).settings({ maxRetries: 3 }).build();
    const call = agent.call('Hi', context);
    await expect(call).rejects.toThrow(
      `Model mine ${message}. Its generate must resolve with { content: [{ type`,
    );
    expect(asked).toBe(1);
  });

  it.each([undefined, { type: 'text', text: 'Hi' }, { type: 'text-delta' }, { type: 'tool-call-delta' }])(
    'of a model that streams %j says what to stream',
    async (part) => {
      const stream = async function* () {
        yield part as never;
      };
      const agent = builder({ id: 'mine', generate: () => Promise.reject(new Error('no')), stream }).build();
      await expect(agent.stream('Hi', context).reply).rejects.toMatchObject({
        code: 'model_error',
        message: expect.stringContaining(
          `streamed a part of the type "${part?.type}". Its stream must yield`,
        ),
      });
    },
  );

  const message = userMessage('Hi');
  it.each([
    ['id', { ...message, id: undefined }],
    ['createdAt', { ...message, createdAt: undefined }],
    ['content[0].text', { ...message, content: [{ type: 'text' }] }],
    ['metadata', { ...message, metadata: null }],
  ])('of a caller is refused with the path %s, and the session opens', async (path, bad) => {
    const agent = builder(new ScriptedModel([{ text: 'one' }, { text: 'two' }])).build();
    await agent.call('first', context);
    const refused = { code: 'invalid_input', issues: [expect.objectContaining({ path: `[0].${path}` })] };
    await expect(agent.call(bad as unknown as CallInput, context)).rejects.toMatchObject(refused);
    expect((await agent.call('second', context)).text).toBe('two');
    expect(await opens(agent)).toHaveLength(4);
  });

  it.each([
    ['content[0].input', { type: 'tool_use', id: 'c', name: 'odd' }],
    ['content[0].text', { type: 'text' }],
    ['content[0].type', { type: 'hologram', data: 1 }],
  ])('of a model fails the call with the path %s, and the session opens', async (path, block) => {
    const model = {
      id: 'odd',
      generate: async () => ({ content: [block], finishReason: 'stop' }),
    } as unknown as Model;
    const agent = builder(model).build();
    await expect(agent.call('first', context)).rejects.toMatchObject({
      code: 'model_error',
      message: expect.stringContaining(path),
    });
    expect((await opens(agent)).map(({ role }) => role)).toEqual(['user']);
  });

  it.each([[[{ type: 'text', text: () => 1 }]], [undefined], [[{ type: 'audio' }]], [[{ type: 'text' }]]])(
    'of a tool is told to the model: %j',
    async (output) => {
      const tool = { ...noted('odd'), run: async () => output } as unknown as Tool;
      const model = new ScriptedModel([CALL, { text: 'I see' }]);
      const agent = builder(model).tools(tool).build();
      expect((await agent.call('go', context)).text).toBe('I see');
      const [result] = (await opens(agent)).flatMap(toolResultsOf);
      expect(result).toMatchObject({ isError: true, toolName: 'odd' });
      expect(textOf(result?.output ?? [])).toContain('returned an invalid result');
    },
  );

  it('of a hook fails the call with its path, and the session opens', async () => {
    const hook: Capability = {
      name: 'odd',
      async aroundReason({ state }, next) {
        if (state.context.length > 2) state.contextMutable().push({ role: 'user', content: 'x' } as never);
        return next();
      },
    };
    const agent = builder(new ScriptedModel([{ text: 'one' }, { text: 'two' }]))
      .use(hook)
      .build();
    await agent.call('first', context);
    await expect(agent.call('second', context)).rejects.toMatchObject({ code: 'invalid_input' });
    expect((await opens(agent)).map(textOf)).toEqual(['first', 'one']);
  });
});

function noted(name: string, ran: string[] = []): Tool {
  return defineTool({
    name,
    description: name,
    input: { type: 'object' },
    execute: () => {
      ran.push(name);
      return 'done';
    },
  });
}

describe('a decision that two nodes are given at once', () => {
  /** A store without leases, whose commits wait for each other once `armed`. */
  class Meeting extends InMemorySession {
    override readonly leases = undefined as never;
    #arrived = 0;
    #meet: () => void = () => {};
    #both: Promise<void> | undefined;

    arm(): void {
      this.#both = new Promise((resolve) => {
        this.#meet = resolve;
      });
    }

    override async load(key: SessionKey): Promise<StoredSession | undefined> {
      const stored = await super.load(key);
      if (this.#both !== undefined && ++this.#arrived >= 2) this.#meet();
      await this.#both;
      return stored;
    }
  }

  it('runs the call once, also where conflicts are merged', async () => {
    const session = new Meeting();
    const ran: string[] = [];
    const agent = () =>
      builder(new ScriptedModel([{ text: 'done' }]))
        .session(session)
        .onConflict('merge')
        .tools(noted('odd', ran))
        .use(permissions())
        .build();
    const first = builder(new ScriptedModel([CALL]))
      .session(session)
      .tools(noted('odd', ran))
      .use(permissions());
    const { pendingCalls } = await first.build().call('go', context);
    const decisions = { [pendingCalls[0]?.approvalId ?? '']: { type: 'approve' as const } };
    session.arm();
    const outcomes = await Promise.allSettled([1, 2].map(() => agent().resume(context, { decisions })));
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(outcomes.find(({ status }) => status === 'rejected')).toMatchObject({
      reason: { code: 'session_conflict' },
    });
    expect(ran).toEqual(['odd']);
  });
});
