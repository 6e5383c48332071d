import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ClientContext, client, methods, ndJsonStream } from '@agentclientprotocol/sdk';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { ResumableStreams, toUIMessageStream } from '@x/ai-sdk';
import {
  type AgentEvent,
  type Capability,
  defineTool,
  InMemorySession,
  type Model,
  ModelError,
  type ModelResponse,
  type ModelStreamPart,
  type PendingCall,
  RuntimeContext,
  SessionKey,
  SessionLeaseError,
  SessionStoreError,
  StreamLog,
  toClientError,
  toClientEvent,
  XError,
} from '@x/core';
import { LocalWorkspace } from '@x/core/node';
import { HarnessAgent, permissions, serverSentEvents, subagents, toAgUi } from '@x/harness';
import { MemoryService } from '@x/memory';
import { mcpServer } from '@x/memory/mcp';
import { type ScriptEntry, ScriptedModel } from '@x/testkit';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { acpAgent } from '../src/acp/acp-agent.js';

const CANARY = 'canary-9d41';
const context = RuntimeContext.of({ userId: 'u', sessionId: 's' });

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'x-ways-out-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true, maxRetries: 20 }));

/** All that a client gets to read of a call, by way. */
type Way = (agent: HarnessAgent, signal?: AbortSignal) => Promise<string>;

const ask = (agent: HarnessAgent, signal?: AbortSignal) =>
  agent.stream('Go', context, signal === undefined ? {} : { signal });

async function textsOf(items: AsyncIterable<unknown>): Promise<string> {
  const texts: string[] = [];
  try {
    for await (const item of items) texts.push(JSON.stringify(item));
  } catch (error) {
    texts.push(`threw ${String(error)}`);
  }
  return texts.join('\n');
}

/** Keeps a stream, and reads what was kept: before its end by `resume`, as a page does that was reloaded. */
async function kept<Item>(
  events: AsyncIterable<Item>,
  read: (items: AsyncIterable<Item>) => Promise<string>,
) {
  const log = new StreamLog(new InMemorySession(), SessionKey.of('s'), { pollMs: 1 });
  const passing = await log.record(events);
  const again = await log.resume<Item>();
  const drained = textsOf(passing);
  const text = await read(again as AsyncIterable<Item>);
  await drained;
  return text;
}

const WAYS: Readonly<Record<string, Way>> = {
  'server-sent events': async (agent, signal) => (await serverSentEvents(ask(agent, signal))).text(),
  'server-sent events of a page that stays open': async (agent, signal) => {
    const left = new AbortController();
    const answer = await serverSentEvents(agent.follow(context, { live: true, signal: left.signal }));
    await textsOf(ask(agent, signal));
    left.abort();
    return answer.text();
  },
  'AG-UI': (agent, signal) => textsOf(toAgUi(ask(agent, signal))),
  useChat: (agent, signal) => textsOf(toUIMessageStream(ask(agent, signal))),
  'useChat of version 5': (agent, signal) => textsOf(toUIMessageStream(ask(agent, signal), { version: 5 })),
  'a resumed useChat': async (agent, signal) => {
    const streams = new ResumableStreams({ store: new InMemorySession(), pollMs: 1 });
    const passing = textsOf(await streams.record('c', toUIMessageStream(ask(agent, signal))));
    const again = await streams.resume('c');
    const text = again === undefined ? '' : await textsOf(again);
    return `${await passing}\n${text}`;
  },
  'a stored stream': (agent, signal) =>
    kept<AgentEvent>(ask(agent, signal), async (items) => (await serverSentEvents(items)).text()),
  'a stored stream as it is': (agent, signal) => kept<AgentEvent>(ask(agent, signal), textsOf),
  ACP: async (agent, signal) =>
    (await edited(agent, signal)).map((update) => JSON.stringify(update)).join('\n'),
  'a socket': async (agent, signal) => {
    const texts: string[] = [];
    try {
      for await (const event of ask(agent, signal)) texts.push(JSON.stringify(toClientEvent(event)));
    } catch (error) {
      texts.push(JSON.stringify(toClientError(error)));
    }
    return texts.join('\n');
  },
};

/** The updates that an editor gets, and the error of its prompt. */
async function edited(agent: HarnessAgent, signal?: AbortSignal): Promise<readonly unknown[]> {
  const [there, back] = [new TransformStream(), new TransformStream()];
  acpAgent(async () => agent, { name: 'x', version: '1' }).connect(
    ndJsonStream(back.writable, there.readable),
  );
  const updates: unknown[] = [];
  const work = async (editor: ClientContext) => {
    await editor.request(methods.agent.initialize, { protocolVersion: 1, clientCapabilities: {} });
    const { sessionId } = await editor.request(methods.agent.session.new, { cwd: directory, mcpServers: [] });
    signal?.addEventListener('abort', () => void editor.notify(methods.agent.session.cancel, { sessionId }));
    await editor
      .request(methods.agent.session.prompt, { sessionId, prompt: [{ type: 'text', text: 'Go' }] })
      .catch((error: unknown) => updates.push({ error: String(error), data: Object(error).data }));
  };
  await client({ name: 'editor' })
    .onNotification(methods.client.session.update, ({ params }) => void updates.push(params.update))
    .onRequest(methods.client.session.requestPermission, () => ({ outcome: { outcome: 'cancelled' } }))
    .connectWith(ndJsonStream(there.writable, back.readable), work);
  return updates;
}

class Broken extends InMemorySession {
  readonly #method: 'load' | 'commit';

  constructor(method: 'load' | 'commit') {
    super();
    this.#method = method;
  }

  override load(...given: Parameters<InMemorySession['load']>): ReturnType<InMemorySession['load']> {
    return this.#method === 'load' ? refused() : super.load(...given);
  }

  override commit(...given: Parameters<InMemorySession['commit']>): ReturnType<InMemorySession['commit']> {
    return this.#method === 'commit' ? refused() : super.commit(...given);
  }
}

function refused(): Promise<never> {
  const text = `connect ECONNREFUSED ${CANARY}:6379 (user ${CANARY})`;
  return Promise.reject(new SessionStoreError('session_unavailable', text, { cause: new Error(CANARY) }));
}

const failing = (error: unknown): Model => ({ id: 'm', generate: () => Promise.reject(error) });
const hook = (capability: Partial<Capability>): Capability => ({ name: 'mine', ...capability });
const broken = () => {
  throw new Error(CANARY);
};
const look = defineTool({
  name: 'look',
  description: 'l',
  readOnly: true,
  input: z.object({}),
  execute: () => 'seen',
});
const looks: ScriptEntry[] = [{ toolCalls: [{ name: 'look', input: {} }] }, { text: 'end' }];

/** Agents in which something fails, each with a canary in every text of the error. */
const FAILURES: Readonly<Record<string, (builder: ReturnType<typeof HarnessAgent.builder>) => unknown>> = {
  'a model': (builder) =>
    builder.model(failing(new ModelError(CANARY, { modelId: CANARY, cause: new Error(CANARY) }))),
  'a model that is down': (builder) => builder.model(failing(new ModelError(CANARY, { retryable: true }))),
  'a client of a provider': (builder) =>
    builder.model(failing(new Error(`POST https://${CANARY}/v1?key=${CANARY}`))),
  'what is no error': (builder) => builder.model(failing({ code: CANARY, message: CANARY })),
  'an error of an application': (builder) => builder.model(failing(new XError('mine', CANARY))),
  'a model with another behind it': (builder) =>
    builder.model(failing(new ModelError(CANARY, { status: 401 })), {
      fallback: [new ScriptedModel([{ text: 'end' }])],
    }),
  'a store that loads nothing': (builder) => builder.session(new Broken('load')),
  'a store that stores nothing': (builder) => builder.session(new Broken('commit')),
  'a hook around the call': (builder) => builder.use(hook({ aroundCall: broken })),
  'a hook around a tool': (builder) => builder.use(hook({ aroundTool: broken })),
  'a hook around the model': (builder) => builder.use(hook({ aroundModel: broken })),
  'a hook that judges': (builder) => builder.use(hook({ authorize: broken })),
  'a hook that observes': (builder) => builder.use(hook({ observe: broken })),
  'a hook that writes the prompt': (builder) => builder.use(hook({ system: broken })),
  'a listener': (builder) => builder.onEvent(broken),
  'work in the background': (builder) =>
    builder.use(
      hook({
        async aroundCall(scope, next) {
          scope.background('work', async () => broken());
          await next();
        },
      }),
    ),
};

describe.each(Object.entries(WAYS))('%s', (_, way) => {
  it.each(Object.entries(FAILURES))('says nothing of an error in %s', async (_, fail) => {
    const warned = process.listenerCount('warning');
    const builder = HarnessAgent.builder()
      .model(new ScriptedModel(looks))
      .workspace(directory)
      .settings({ retryDelayMs: 1, maxRetries: 1, limits: { storeMs: 50, outageMs: 50 } })
      .use(permissions({ mode: 'bypass' }))
      .tools(look);
    fail(builder);
    const agent = builder.build();
    const text = await way(agent);
    expect(text).not.toContain(CANARY);
    await agent.close();
    expect(process.listenerCount('warning')).toBe(warned);
  });
});

/** Waits until a stream has failed before its first event, and returns a stream that fails at once with the same error. */
async function failed(events: AsyncIterable<AgentEvent>): Promise<AsyncGenerator<AgentEvent>> {
  const error = await events[Symbol.asyncIterator]()
    .next()
    .then(
      () => new Error('The stream has events.'),
      (reason: unknown) => reason,
    );
  // biome-ignore lint/correctness/useYield: it fails before its first event
  return (async function* () {
    throw error;
  })();
}

it('gives an answer that fails at once the status and the code of its error', async () => {
  const agent = HarnessAgent.builder().model(new ScriptedModel(looks)).workspace(directory).build();
  const decisions = { nope: { type: 'approve' as const } };
  const answers = [
    [agent.resumeStream(context), 409, 'nothing_to_resume'],
    [agent.resumeStream(context, { decisions }), 409, 'not_pending'],
    [agent.stream('Hi', context, { toolChoice: { tool: 'nope' } }), 400, 'invalid_input'],
  ] as const;
  for (const [events, status, code] of answers) {
    const answer = await serverSentEvents(await failed(events));
    const [, data = ''] = (await answer.text()).split('event: error\ndata: ');
    expect([answer.status, JSON.parse(data).code]).toEqual([status, code]);
  }
  await agent.close();
  const closed = await serverSentEvents(await failed(agent.stream('Hi', context)));
  expect(closed.status).toBe(503);
  expect(await closed.text()).toBe(
    'event: error\ndata: {"code":"agent_closed","message":"The server is shutting down. Try again in a moment."}\n\n',
  );
});

it('says over MCP nothing of an error in a tool, or in the memory', async () => {
  const workspace = new LocalWorkspace(directory);
  const memory = new MemoryService({ workspace });
  memory.read = async () => broken();
  memory.search = async () => broken();
  const execute = (error: unknown) => async () => {
    throw error;
  };
  const tool = (name: string, error: unknown) =>
    defineTool({ name, description: name, input: z.strictObject({}), execute: execute(error) });
  const tools = [
    tool('plain', new Error(CANARY)),
    tool('ours', new SessionStoreError('session_unavailable', CANARY)),
    tool('worded', new XError('full', CANARY, { clientMessage: 'The plan is full.' })),
  ];
  const server = mcpServer({ workspace, memory, tools, scope: { userId: 'u' } });
  const [near, far] = InMemoryTransport.createLinkedPair();
  const other = new Client({ name: 'other', version: '1.0.0' });
  await Promise.all([server.connect(far), other.connect(near)]);
  const call = async (name: string, input = {}) =>
    JSON.stringify(await other.callTool({ name, arguments: input }));
  const said = [
    ...(await Promise.all(['plain', 'ours', 'worded'].map((name) => call(name)))),
    await call('plain', { odd: CANARY.length }),
    await other.listResources().catch(String),
    await other.readResource({ uri: 'memory://MEMORY.md' }).catch(String),
    await other.getPrompt({ name: 'memory' }).catch(String),
  ].map((one) => (typeof one === 'string' ? one : JSON.stringify(one)));
  expect(said.join('\n')).not.toContain(CANARY);
  expect(said[0]).toContain('An error occurred.');
  expect(said[2]).toContain('The plan is full.');
  // What is wrong with its input is for the client's model to mend.
  expect(said[3]).toContain('odd');
  await other.close();
  await memory.close();
});

/** The calls that a client was told of, without those that have a result. A call that a person was asked about waits, and is not open. */
const OPEN_CALLS: Readonly<Record<string, (text: string) => ReadonlySet<string>>> = {
  events: openIn((item) => {
    let [path, data] = ['', 'event' in item && 'data' in item ? item.data : item];
    for (; data.type === 'subagent.event'; data = data.event) path += `${data.taskId}/`;
    const named = (ids: readonly string[]) => ids.map((id) => path + id);
    if (data.type === 'tool.call') return { opens: named([data.call.id]) };
    if (data.type === 'tool.delta') return { opens: named([data.toolUseId]) };
    if (data.type === 'tool.result') return { closes: named([data.result.toolUseId]) };
    if (data.type === 'draft.discarded') return { discards: path };
    if (data.type === 'permission.required')
      return { closes: named(data.calls.filter(isOwn).map(({ id }: PendingCall) => id)) };
    return {};
  }),
  'AG-UI': openIn((item) => {
    if (item.type === 'TOOL_CALL_CHUNK') return { opens: [item.toolCallId] };
    if (item.type === 'TOOL_CALL_RESULT') return { closes: [item.toolCallId] };
    if (item.name === 'permission.required')
      return { closes: item.value.calls.filter(isOwn).map(({ id }: PendingCall) => id) };
    return {};
  }),
  useChat: openIn((item) => {
    if (item.type === 'tool-input-start' || item.type === 'tool-input-available')
      return { opens: [item.toolCallId] };
    const ends = ['tool-output-error', 'tool-input-error', 'tool-approval-request'];
    const isOver = ends.includes(item.type) || (item.type === 'tool-output-available' && !item.preliminary);
    if (item.type === 'data-approval') return { closes: [item.data.toolCallId] };
    return isOver ? { closes: [item.toolCallId] } : {};
  }),
  ACP: openIn((item) => {
    if (item.sessionUpdate === 'tool_call') return { opens: [item.toolCallId] };
    return ['completed', 'failed'].includes(item.status) ? { closes: [item.toolCallId] } : {};
  }),
};

/** A call that a subagent made is listed with the calls of its parent. */
function isOwn({ agentId }: PendingCall): boolean {
  return agentId === undefined || agentId === '';
}

interface Change {
  readonly opens?: readonly string[];
  readonly closes?: readonly string[];
  /** The path of the agent whose draft is void. */
  readonly discards?: string;
}

// biome-ignore lint/suspicious/noExplicitAny: items of four protocols, read as a page without types would.
function openIn(change: (item: any) => Change) {
  return (text: string): ReadonlySet<string> => {
    const open = new Set<string>();
    for (const line of text.split('\n')) {
      const json = line.replace(/^data: ?/, '');
      if (!json.startsWith('{')) continue;
      const { opens = [], closes = [], discards } = change(JSON.parse(json));
      for (const id of [...open]) if (id.slice(0, id.lastIndexOf('/') + 1) === discards) open.delete(id);
      for (const id of opens) open.add(id);
      for (const id of closes) open.delete(id);
    }
    return open;
  };
}

const READERS: Readonly<Record<string, string>> = { 'AG-UI': 'AG-UI', ACP: 'ACP' };
const readerOf = (way: string) => READERS[way] ?? (way.includes('useChat') ? 'useChat' : 'events');

const ENDS = [
  'stops',
  'fails',
  'reaches a limit',
  'loses its turn',
  'asks a human',
  'closes',
  'is cut off',
  'ends',
] as const;

class Taken extends InMemorySession {
  isTaken = false;

  override commit(...given: Parameters<InMemorySession['commit']>): ReturnType<InMemorySession['commit']> {
    const [key] = given;
    if (!this.isTaken) return super.commit(...given);
    return Promise.reject(new SessionLeaseError('lease_lost', CANARY, { sessionKey: key.toString() }));
  }
}

describe.each(Object.keys(WAYS).map((name, index) => [name, index] as const))('%s', (name, index) => {
  it('never ends with an open tool call, whatever ends the call', async () => {
    const way = WAYS[name] as Way;
    const scenario = fc.record({
      end: fc.constantFrom(...ENDS),
      depth: fc.integer({ min: 0, max: 2 }),
      calls: fc.integer({ min: 1, max: 3 }),
      step: fc.integer({ min: 0, max: 2 }),
      kind: fc.constantFrom('readOnly' as const, 'parallel' as const, undefined),
    });
    await fc.assert(
      fc.asyncProperty(scenario, async ({ end, depth, calls, step, kind }) => {
        const stop = new AbortController();
        const session = new Taken();
        let steps = 0;
        const at = (run: () => unknown) => (steps++ >= step * calls ? run() : 'done');
        const work = defineTool({
          name: 'work',
          description: 'w',
          ...(kind === undefined ? {} : { [kind]: true }),
          input: z.object({ n: z.number() }),
          async execute({ n }, { signal }) {
            if (n > 0) return 'beside';
            return at(async () => {
              if (end === 'stops') stop.abort();
              if (end === 'closes') void agent.close({ drainMs: 0 });
              if (end === 'loses its turn') session.isTaken = true;
              if (end === 'stops' || end === 'closes')
                await new Promise((_, reject) =>
                  signal.addEventListener('abort', () => reject(signal.reason)),
                );
              return 'done';
            }) as Promise<string>;
          },
        });
        const use = { toolCalls: Array.from({ length: calls }, (_, n) => ({ name: 'work', input: { n } })) };
        const cut: ScriptEntry = { ...use, finishReason: 'length' } as ScriptEntry;
        const spawn = {
          toolCalls: [{ name: 'agent_spawn', input: { agent: 'general-purpose', task: 'Work.' } }],
        };
        const script: ScriptEntry[] = [use, use, use, end === 'is cut off' ? cut : use, { text: 'end' }];
        for (let level = 0; level < depth; level++) {
          script.unshift(spawn);
          script.push({ text: 'end' });
        }
        const agent = HarnessAgent.builder()
          .model(new ScriptedModel(script))
          .workspace(directory)
          .session(session)
          .settings({ maxIterations: end === 'reaches a limit' ? step + 1 : 9, limits: { closeMs: 200 } })
          .use(
            permissions(end === 'asks a human' ? { ask: ['work'] } : { mode: 'bypass' }),
            hook({
              async aroundTool(call, scope, next) {
                if (end === 'fails' && steps >= step * calls) throw new Error('the hook broke');
                scope.signal.throwIfAborted();
                return next(call);
              },
            }),
          )
          .use(subagents())
          .tools(work)
          .build();
        const text = await way(agent, stop.signal);
        expect([...(OPEN_CALLS[readerOf(name)]?.(text) ?? ['?'])]).toEqual([]);
        await agent.close({ drainMs: 0 });
        rmSync(join(directory, '.x'), { recursive: true, force: true });
      }),
      // Each way gets other scenarios.
      { numRuns: 12, seed: (fc.readConfigureGlobal().seed ?? 0) + index },
    );
  });
});

type Uses = readonly { readonly id: string; readonly name?: string; readonly input?: string }[];

/** Streams an answer with calls, input in halves. `at` may interfere after the first half of the last call. */
async function* streamed(
  uses: Uses,
  at?: () => unknown,
  finishReason = 'tool-calls',
): AsyncGenerator<ModelStreamPart> {
  for (const [index, { id, name = 'work', input = '{"n":0}' }] of uses.entries()) {
    yield { type: 'tool-call-delta', id, name, inputDelta: input.slice(0, 3) };
    if (index === uses.length - 1) await at?.();
    yield { type: 'tool-call-delta', id, name, inputDelta: input.slice(3) };
  }
  const content = uses.map(({ id, name = 'work', input = '{"n":0}' }) => ({
    type: 'tool_use' as const,
    ...{ id, name, input: JSON.parse(input) },
  }));
  yield { type: 'response', response: { content, finishReason } as ModelResponse };
}

async function* said(text: string): AsyncGenerator<ModelStreamPart> {
  yield { type: 'response', response: { content: [{ type: 'text', text }], finishReason: 'stop' } };
}

const [a, b, c] = [{ id: 'a' }, { id: 'b' }, { id: 'c' }];
const reset = () => Promise.reject(new ModelError('reset', { retryable: true }));
const refusedAt = () => Promise.reject(new ModelError('refused', { status: 400 }));
const forever = () => new Promise<never>(() => {});
type Builder = ReturnType<typeof HarnessAgent.builder>;

/** What may happen within an answer or a step: the answers of the model, and what else the agent has. */
const EVENTS: Readonly<
  Record<
    string,
    {
      readonly answers: readonly (() => AsyncIterable<ModelStreamPart>)[];
      readonly change?: (builder: Builder, stop: AbortController) => unknown;
    }
  >
> = {
  'a stream that is reset within an input': { answers: [() => streamed([a, b], reset), () => streamed([c])] },
  'a stream that always breaks within an input': { answers: Array(4).fill(() => streamed([a], reset)) },
  'a refusal within an input': { answers: [() => streamed([a, b], refusedAt)] },
  'a stream that hangs within an input': {
    answers: Array(4).fill(() => streamed([a], forever)),
    change: (builder) => builder.settings({ limits: { modelIdleMs: 20, modelMs: 40 } }),
  },
  'an input that another model takes over': {
    answers: [() => streamed([a], refusedAt)],
    change: (builder) =>
      builder.model(modelOf([() => streamed([a], refusedAt)]), {
        fallback: [modelOf([() => streamed([b])])],
      }),
  },
  'more calls than an answer may have': {
    answers: [() => streamed([a, b, c])],
    change: (builder) => builder.settings({ limits: { answerCalls: 1 } }),
  },
  'two calls with one id': { answers: [() => streamed([a, a, b])] },
  'one id in two answers': { answers: [() => streamed([a]), () => streamed([a])] },
  'an answer that is withheld': { answers: [() => streamed([a, b], undefined, 'content-filter')] },
  'an answer that is cut off': {
    answers: [() => streamed([a, b], undefined, 'length'), () => streamed([c])],
  },
  'an unknown tool and an invalid input': {
    answers: [
      () =>
        streamed([
          { ...a, name: 'nope' },
          { ...b, input: '{"n":"x"}' },
        ]),
    ],
  },
  'a hook that answers in its place': {
    answers: [() => streamed([a, b])],
    change: (builder) =>
      builder.use(
        hook({
          async aroundReason(_, next) {
            await next();
            return { content: [{ type: 'text', text: 'Mine.' }], finishReason: 'stop' };
          },
        }),
      ),
  },
  'a call that does not hear its limit': {
    answers: [() => streamed([{ ...a, name: 'deaf' }, b])],
    change: (builder) => builder.settings({ limits: { callMs: 60, closeMs: 50 } }),
  },
  'a stop while a deaf call runs beside others': {
    answers: [() => streamed([{ ...a, name: 'stopping' }, { ...b, name: 'deaf' }, c])],
  },
  'a question beside calls that run': {
    answers: [() => streamed([a, { ...b, name: 'risky' }])],
    change: (builder) => builder.use(permissions({ allow: ['work'], ask: ['risky'] })),
  },
  'a tool that breaks': { answers: [() => streamed([{ ...a, name: 'broken' }, b])] },
};

function modelOf(answers: readonly (() => AsyncIterable<ModelStreamPart>)[]): Model {
  let index = 0;
  return {
    id: 'm',
    generate: () => Promise.reject(new ModelError('streams only', {})),
    stream: () => (answers[index++] ?? (() => said('end')))(),
  };
}

describe.each(Object.keys(WAYS))('%s', (name) => {
  it.each(Object.entries(EVENTS))('leaves no call open after %s', async (_, { answers, change }) => {
    const stop = new AbortController();
    const tool = (named: string, execute: () => unknown, readOnly = true) =>
      defineTool({
        name: named,
        description: named,
        readOnly,
        input: z.object({ n: z.number() }),
        execute: async () => (await execute()) as string,
      });
    const builder = HarnessAgent.builder()
      .model(modelOf(answers))
      .workspace(directory)
      .onEvent(() => {})
      .settings({ retryDelayMs: 1, maxRetries: 2, limits: { closeMs: 50 } })
      .tools(
        tool('work', () => 'done'),
        tool('risky', () => 'done', false),
        tool('deaf', forever),
        tool('stopping', () => void stop.abort()),
        tool('broken', () => {
          throw 'no error';
        }),
      );
    change?.(builder, stop);
    const agent = builder.build();
    const text = await (WAYS[name] as Way)(agent, stop.signal);
    expect([...(OPEN_CALLS[readerOf(name)]?.(text) ?? ['?'])]).toEqual([]);
    await agent.close({ drainMs: 0 });
  });
});
