import {
  defineTool,
  InMemorySession,
  ModelError,
  RuntimeContext,
  type SessionKey,
  SessionStoreError,
  textOf,
  userMessage,
} from '@x/core';
import { WorkspaceSessionLog } from '@x/core/node';
import type { SessionChange } from '@x/core/store';
import { ScriptedModel } from '@x/testkit';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { z } from 'zod';
import { HarnessAgent, toAgUi } from '../../src/index.js';
import { collect, scratch } from '../support.js';

const context = RuntimeContext.of({ sessionId: 's' });

/** Loses the replies of some commits, all that are sent again with them. */
class LosesReplies extends InMemorySession {
  readonly #lost: (commit: number) => boolean;
  readonly #operations: string[] = [];
  isOver = false;

  constructor(lost: (commit: number) => boolean) {
    super();
    this.#lost = lost;
  }

  get commits(): number {
    return this.#operations.length;
  }

  override async commit(key: SessionKey, change: SessionChange): Promise<number> {
    const version = await super.commit(key, change);
    if (!this.#operations.includes(change.operation)) this.#operations.push(change.operation);
    const isLost = !this.isOver && this.#lost(this.#operations.indexOf(change.operation));
    if (isLost) throw new SessionStoreError('session_unavailable', 'The reply was lost.');
    return version;
  }
}

function agentOn(store: InMemorySession, workspace: ReturnType<typeof scratch>) {
  let ran = 0;
  const model = new ScriptedModel([
    { toolCalls: [{ name: 'transfer', input: { amount: 100 } }] },
    { text: 'Done.' },
    { text: 'A second time.' },
    { text: 'A third time.' },
  ]);
  const agent = HarnessAgent.builder()
    .name('bank')
    .model(model)
    .workspace(workspace)
    .session(store)
    .checkpoint('step')
    // A store that loses replies is not waited for.
    .limits({ outageMs: 1 })
    .tools(
      defineTool({
        name: 'transfer',
        description: 'Transfers money',
        input: z.object({ amount: z.number() }),
        execute: () => {
          ran += 1;
          return 'transferred';
        },
      }),
    )
    .build();
  return { agent, model, ran: () => ran };
}

function manyCalls(count: number) {
  const model = new ScriptedModel(Array.from({ length: count }, (_, call) => ({ text: `answer ${call}` })));
  const [workspace, store] = [scratch(), new InMemorySession()];
  const again = () => HarnessAgent.builder().model(model).workspace(workspace).session(store).build();
  return { agent: again(), model, store, again };
}

describe('a call with an id', () => {
  it('that is repeated answers its first reply, in any process, and runs nothing again', async () => {
    const store = new InMemorySession();
    const workspace = scratch();
    const first = agentOn(store, workspace);
    const reply = await first.agent.call('transfer 100 EUR', context, { id: 'order-1' });
    expect(reply.text).toBe('Done.');
    const second = agentOn(store, workspace);
    for (const { agent } of [first, second]) {
      const again = await agent.call('transfer 100 EUR', context, { id: 'order-1' });
      expect(again).toEqual({ ...reply, messages: [] });
    }
    expect([first.ran(), second.ran()]).toEqual([1, 0]);
    expect((await store.load((await sessionKeyOf(store)) as SessionKey))?.messages).toHaveLength(4);
  });

  it('that is repeated as a stream sends its first reply again, to readers of the stream alone', async () => {
    const heard: string[] = [];
    const agent = HarnessAgent.builder()
      .model(new ScriptedModel([{ text: 'Bern.' }]))
      .workspace(scratch())
      .onEvent(({ type }) => void heard.push(type))
      .build();
    const first = await agent.call('Capital?', context, { id: 'q' });
    const before = [...heard];
    const events = await collect(agent.stream('Capital?', context, { id: 'q' }));
    expect(events.map(({ type, seq }) => [type, seq])).toEqual([
      ['call.started', 1],
      ['text.delta', 2],
      ['message.added', 3],
      ['model.completed', 4],
      ['call.completed', 5],
    ]);
    expect(events[2]).toMatchObject({ message: { id: first.message?.id } });
    expect(events[4]).toMatchObject({ text: 'Bern.', stopReason: 'completed', steps: 1 });
    const sent = await collect(toAgUi(agent.stream('Capital?', context, { id: 'q' })));
    expect(sent.map(({ type }) => type)).toEqual(['RUN_STARTED', 'TEXT_MESSAGE_CHUNK', 'RUN_FINISHED']);
    expect(heard).toEqual(before);
  });

  it('that asks for an output answers it as its schema makes it, also what JSON cannot hold', async () => {
    const model = new ScriptedModel([{ text: '{"n":"12","at":"2020-01-01"}' }], { structuredOutput: true });
    const agent = HarnessAgent.builder()
      .model(model)
      .workspace(scratch())
      .session(new InMemorySession())
      .build();
    const output = z.object({
      n: z.string().transform(BigInt),
      at: z.string().transform((text) => new Date(text)),
    });
    const options = { id: 'sum', output };
    for (const _ of ['first', 'repeated']) {
      const reply = await agent.call('Sum it up', context, options);
      expect(reply.output).toEqual({ n: 12n, at: new Date('2020-01-01') });
    }
    expect(model.requests).toHaveLength(1);
  });

  it('is another one with another id', async () => {
    const { agent } = agentOn(new InMemorySession(), scratch());
    await agent.call('transfer 100 EUR', context, { id: 'order-1' });
    expect((await agent.call('And now?', context, { id: 'order-2' })).text).toBe('A second time.');
  });

  it('answers its first reply after any number of others, and in any process', async () => {
    const { agent, model, again } = manyCalls(40);
    const replies = [];
    for (let call = 0; call < 40; call++) {
      replies.push(await agent.call(`question ${call}`, context, { id: `c-${call}` }));
    }
    const other = again();
    for (const [call, reply] of replies.entries()) {
      for (const process of [agent, other]) {
        const repeated = await process.call(`question ${call}`, context, { id: `c-${call}` });
        expect(repeated).toEqual({ ...reply, messages: [] });
      }
    }
    expect(model.requests).toHaveLength(40);
    expect((await agent.state(context))?.extensions.calls?.finished).toHaveLength(8);
  });

  it('is a new one in a session that was deleted, whose log is still there', async () => {
    const { agent, model, store } = manyCalls(40);
    for (let call = 0; call < 12; call++) await agent.call('question', context, { id: `c-${call}` });
    await store.delete(agent.keyOf(context));
    for (let call = 0; call < 12; call++) await agent.call('question', context, { id: `c-${call}` });
    expect(model.requests).toHaveLength(24);
    expect((await agent.call('question', context, { id: 'c-0' })).text).toBe('answer 12');
  });

  it('is looked for in the log once, where the session has had more calls than it carries', async () => {
    const { agent } = manyCalls(40);
    const note = vi.spyOn(WorkspaceSessionLog.prototype, 'note');
    onTestFinished(() => note.mockRestore());
    for (let call = 0; call < 9; call++) await agent.call('question', context, { id: `c-${call}` });
    await agent.call('question', context, { id: 'c-8' });
    await agent.call('question', context);
    expect(note).not.toHaveBeenCalled();
    await agent.call('question', context, { id: 'c-9' });
    expect(note).toHaveBeenCalledTimes(1);
  });

  it.each(['error', 'interrupted', 'resume'])(
    'that another one overtook has the reply of that one: %s',
    async (how) => {
      const failing = how === 'error' ? [{ error: new ModelError('No.', { retryable: false }) }] : [];
      const model = new ScriptedModel([...failing, { text: 'answer to both' }, { text: 'later' }]);
      const agent = HarnessAgent.builder()
        .model(model)
        .workspace(scratch())
        .session(new InMemorySession())
        .build();
      const signal = failing.length > 0 ? {} : { signal: AbortSignal.abort() };
      const first = agent.call('first', context, { id: 'a', ...signal });
      await (failing.length > 0 ? expect(first).rejects.toThrow('No.') : first);
      if (how === 'resume') {
        await agent.call('second', context, { id: 'b', signal: AbortSignal.abort() });
        await agent.resume(context);
      } else await agent.call('second', context);
      for (let other = 0; other < 12; other++) {
        expect(await agent.call('first', context, { id: 'a' })).toMatchObject({
          stopReason: 'superseded',
          text: 'answer to both',
          messages: [],
        });
        if (other === 0) await agent.call('third', context, { id: 'c' });
      }
      expect(model.requests).toHaveLength(failing.length + 2);
    },
  );

  it('is known by its own id where its messages have others, each time', async () => {
    const { agent, ran } = agentOn(new InMemorySession(), scratch());
    const pay = () => agent.call(userMessage('transfer 100 EUR'), context, { id: 'order-1' });
    const { text } = await pay();
    expect((await pay()).text).toBe(text);
    const other = agent.call(userMessage('transfer 200 EUR'), context, { id: 'order-1' });
    await expect(other).rejects.toMatchObject({ code: 'invalid_input' });
    expect(ran()).toBe(1);
  });

  it('may be repeated after a commit whose reply was lost, whichever it was: the turn is there once', async () => {
    for (let lost = 0; ; lost++) {
      const store = new LosesReplies((commit) => commit === lost);
      const { agent, ran } = agentOn(store, scratch());
      const call = () => agent.call('transfer 100 EUR', context, { id: 'order-1' });
      const failure = await call().then(
        () => undefined,
        (error: unknown) => error,
      );
      store.isOver = true;
      const reply = await call();
      expect(reply.stopReason, `commit ${lost}`).toBe('completed');
      expect(ran(), `commit ${lost}`).toBeLessThanOrEqual(1);
      const stored = await store.load((await sessionKeyOf(store)) as SessionKey);
      const said = stored?.messages.filter((message) => textOf([...message.content]) === 'transfer 100 EUR');
      expect(said, `commit ${lost}`).toHaveLength(1);
      expect(new Set(stored?.messages.map(({ id }) => id)).size).toBe(stored?.messages.length);
      if (failure === undefined) break;
    }
  });
});

describe('a message with an id of its own', () => {
  it('that is said twice stands once in context and log, and is answered as it was', async () => {
    const store = new InMemorySession();
    const directory = scratch();
    const processes = [agentOn(store, directory), agentOn(store, directory)] as const;
    const [{ agent }, other] = processes;
    const message = userMessage('transfer 100 EUR', { id: 'from-the-client' });
    const first = await agent.call(message, context);
    for (const again of [agent, other.agent]) {
      expect((await again.call(message, context)).text).toBe(first.text);
    }
    expect(processes.map(({ ran }) => ran())).toEqual([1, 0]);
    const ids = (await agent.state(context))?.context.map(({ id }) => id) ?? [];
    expect(ids.filter((id) => id === message.id)).toHaveLength(1);
    const logged: string[] = [];
    for await (const { id } of agent.log(context).read()) logged.push(id);
    expect(logged).toEqual(ids);
  });
});

async function sessionKeyOf(store: InMemorySession): Promise<SessionKey | undefined> {
  for await (const { key } of store.list()) return key;
  return undefined;
}

describe('an id', () => {
  const bank = () =>
    HarnessAgent.builder()
      .model(new ScriptedModel([{ text: 'A is paid' }, { text: 'B is paid' }]))
      .workspace(scratch())
      .session(new InMemorySession())
      .build();

  it.each([false, true])('of one thing said is not taken for another: interrupted %s', async (isOpen) => {
    const agent = bank();
    const signal = isOpen ? AbortSignal.abort() : undefined;
    const options = { id: 'i', ...(signal === undefined ? {} : { signal }) };
    const first = await agent.call('Pay A', context, options);
    expect(first.stopReason).toBe(isOpen ? 'interrupted' : 'completed');
    const refused = {
      code: 'invalid_input',
      message: expect.stringContaining('"i" belongs to another message'),
    };
    await expect(agent.call('Pay B', context, { id: 'i' })).rejects.toMatchObject(refused);
    expect(await agent.call('Pay A', context, { id: 'i' })).toMatchObject({ text: 'A is paid' });
  });

  it('stays that of a call which somebody else goes on with', async () => {
    const agent = bank();
    const signal = AbortSignal.abort();
    expect((await agent.call('Pay A', context, { id: 'i', signal })).stopReason).toBe('interrupted');
    expect((await agent.resume(context)).text).toBe('A is paid');
    expect(await agent.call('Pay A', context, { id: 'i' })).toMatchObject({
      text: 'A is paid',
      messages: [],
    });
    await agent.call('Pay B', context);
    expect((await agent.state(context))?.extensions.calls).toEqual({
      open: [],
      finished: [expect.objectContaining({ ids: ['i'] })],
    });
  });

  it('of what was answered does not hide what is said behind it', async () => {
    const agent = bank();
    const [a, b] = [userMessage('Pay A', { id: 'a' }), userMessage('Pay B', { id: 'b' })];
    expect((await agent.call([a], context)).text).toBe('A is paid');
    expect((await agent.call([a, b], context)).text).toBe('B is paid');
    expect((await agent.call([a, b], context)).text).toBe('B is paid');
    expect((await agent.call([a], context)).text).toBe('A is paid');
    const said = (await agent.state(context))?.context.map(textOf);
    expect(said).toEqual(['Pay A', 'A is paid', 'Pay B', 'B is paid']);
  });
});
