import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { assistantMessage, estimateCounter, type Model, ModelError, RuntimeContext, textOf } from '@x/core';
import { openBeside } from '@x/test-support';
import { ScriptedModel } from '@x/testkit';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { Backend } from '../../src/backend/backend.js';
import { createAgent, type DemoAgent } from '../../src/create-agent.js';
import type { Sent } from '../../src/page.js';
import { openFiles } from '../../src/storage.js';
import { startServer } from '../server/running-server.js';
import { noticesOf, type Told, textsOf, told, transcriptOf } from '../transcript.js';
import { info } from './info.js';

let data: string;
let demos: DemoAgent[];
beforeEach(() => {
  data = mkdtempSync(join(tmpdir(), 'x-backend-'));
  demos = [];
});
afterEach(async () => {
  await closeAgents();
  rmSync(data, { recursive: true, force: true, maxRetries: 20 });
});

function open(model: Model): Backend {
  const demo = createAgent({ model, embedded: true, data, repo: data });
  demos.push(demo);
  return new Backend({ demo, counter: estimateCounter, info });
}

/** Waits for what agents do after they have answered: they remember. */
async function closeAgents(): Promise<void> {
  for (const { agent } of demos) await agent.close();
}

/**
 * A process that is killed while the model thinks. It only pretends to be gone, so it takes no lease: one that is gone
 * keeps none alive.
 */
async function die(text: string): Promise<void> {
  const storage = openFiles(data);
  Object.defineProperty(storage.store, 'leases', { value: undefined });
  const model: Model = { id: 'dead', contextWindow: 16_000, generate: () => new Promise(() => {}) };
  const demo = createAgent({ model, embedded: true, data, repo: data, storage });
  const dead = new Backend({ demo, counter: estimateCounter, info });
  await dead.send('s-1', text);
  await transcriptOnce(dead, ({ places }) => places.length > 0);
}

/** The transcript, once it is as it should be and stored. */
async function transcriptOnce(
  backend: Backend,
  isSo: (transcript: Told) => boolean,
  id = 's-1',
): Promise<Told> {
  for (;;) {
    const transcript = await transcriptOf(backend, id);
    if (isSo(transcript)) return transcript;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const answered = (times: number) => (transcript: Told) =>
  transcript.modelCalls === times && transcript.call === undefined;

it('lists the files of subfolders by their path, without the repository', async () => {
  const backend = open(new ScriptedModel([]));
  const workspace = join(data, 'workspace');
  for (const folder of ['', 'notes/api']) {
    mkdirSync(join(workspace, folder), { recursive: true });
    writeFileSync(join(workspace, folder, 'a.md'), 'Text.');
  }
  const paths = (await backend.files()).map(({ path }) => path);
  expect(paths.toSorted()).toEqual(['a.md', 'notes/api/a.md']);
  expect(await backend.readFile('notes/api/a.md')).toMatchObject({ text: 'Text.' });
});

it('lists and serves the other sessions beside a damaged one', async () => {
  const backend = open(new ScriptedModel([{ text: 'Hello.' }, { text: 'Hello.' }]));
  for (const id of ['good', 'bad']) {
    await backend.send(id, 'Hi');
    await transcriptOnce(backend, ({ call, messages }) => call === undefined && messages.size > 1, id);
  }
  await closeAgents();
  const database = openBeside(join(data, 'workspace/.x/sessions.db'));
  database.prepare("UPDATE sessions SET head = '' WHERE session = 'bad'").run();
  database.close();

  const next = open(new ScriptedModel([]));
  expect(await next.resumeAll()).toBe(0);
  const listed = (await next.sessions()).filter(({ damaged }) => !damaged);
  expect(listed.map(({ id }) => id)).toEqual(['good']);
  expect((await transcriptOf(next, 'good')).messages.size).toBeGreaterThan(1);
  const { ask, close } = await startServer({ backend: next, onError: () => {} });
  const events = await ask('/api/sessions/good/events');
  expect(events.status).toBe(200);
  expect((await ask('/api/sessions/bad/events')).status).toBe(500);
  expect((await ask('/api/sessions/bad')).status).toBe(500);
  expect(await (await ask('/api/sessions')).json()).toContainEqual(expect.objectContaining({ id: 'good' }));
  expect((await ask('/api/sessions/good')).status).toBe(200);
  await events.body?.cancel();
  await close();
  await expect(transcriptOf(next, 'bad')).rejects.toMatchObject({ code: 'session_corrupt' });
});

it('says that a session is damaged, also one that is open, in place of taking what is said there', async () => {
  const backend = open(new ScriptedModel([{ text: 'Hello.' }]));
  await backend.send('s-1', 'Hi');
  await transcriptOnce(backend, answered(1));
  const database = openBeside(join(data, 'workspace/.x/sessions.db'));
  database.prepare("UPDATE sessions SET head = '{'").run();
  database.close();
  await expect(backend.send('s-1', 'More')).rejects.toMatchObject({ code: 'session_corrupt' });
  const next = open(new ScriptedModel([]));
  expect(await next.sessions()).toMatchObject([{ id: 's-1', damaged: true }]);
  await expect(transcriptOf(next, 's-1')).rejects.toMatchObject({ code: 'session_corrupt' });
});

it('keeps the half of an answer whose stream was cut, marked as cut, also for a page that reloads', async () => {
  let attempts = 0;
  const backend = open({
    id: 'cut',
    contextWindow: 16_000,
    generate: () => Promise.reject(new Error('It only streams.')),
    async *stream() {
      // Its server goes away within the answer, and stays away.
      if (++attempts === 1) yield { type: 'text-delta', text: 'The stores are ' };
      throw new ModelError('The connection was reset.', { modelId: 'cut', retryable: attempts === 1 });
    },
  });
  await backend.send('s-1', 'Which stores?');
  const isOver = ({ blocks, call }: Told) => call === undefined && blocks.length > 1;
  for (const page of [backend, open(new ScriptedModel([]))]) {
    const transcript = await transcriptOnce(page, isOver);
    expect(attempts).toBe(2);
    expect(textsOf(transcript)).toEqual(['Which stores?', 'The stores are ']);
    expect(noticesOf(transcript)).toMatchObject([
      { level: 'info', message: expect.stringMatching(/^The answer was cut off: /) },
      { level: 'error' },
    ]);
  }
});

it('tells the operator why the model is not available, and the page that it is not', async () => {
  const emitted = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
  onTestFinished(() => emitted.mockRestore());
  const message = 'Model away cannot connect to http://localhost:9/v1.';
  const fail = () => Promise.reject(new ModelError(message, { retryable: true, maxRetries: 0 }));
  const backend = open({ id: 'away', contextWindow: 16_000, generate: fail });
  await backend.send('s-1', 'Hi');
  const transcript = await transcriptOnce(
    backend,
    ({ call, blocks }) => call === undefined && blocks.length > 1,
  );
  expect(JSON.stringify(noticesOf(transcript))).toContain('not available at the moment');
  expect(JSON.stringify(transcript)).not.toContain('localhost:9');
  expect(emitted).toHaveBeenCalledWith(message);
});

it('shows no half of an answer that came whole at the next attempt', async () => {
  let attempts = 0;
  const scripted = new ScriptedModel([{ text: 'The stores are in core.' }]);
  const backend = open({
    id: 'cut',
    contextWindow: 16_000,
    generate: (request) => scripted.generate(request),
    async *stream(request) {
      yield { type: 'text-delta', text: 'The stores are ' };
      if (++attempts === 1)
        throw new ModelError('The connection was reset.', { modelId: 'cut', retryable: true });
      yield { type: 'response', response: await scripted.generate(request) };
    },
  });
  await backend.send('s-1', 'Which stores?');
  const transcript = await transcriptOnce(backend, answered(1));
  expect(textsOf(transcript)).toEqual(['Which stores?', 'The stores are in core.']);
  expect(noticesOf(transcript)).toEqual([]);
});

it('shows the system prompt and the tools of the last request, without storing them', async () => {
  const backend = open(new ScriptedModel([{ text: 'Hello.' }]));
  await backend.send('s-1', 'Hi');
  await transcriptOnce(backend, answered(1));
  const { messages } = await backend.request('s-1');
  expect(messages.map(({ label }) => label.slice(0, 32))).toEqual([
    'System: You are a careful engine',
    expect.stringMatching(/^System: Tools: /),
    'You: Hi',
    'Agent: Hello.',
  ]);
  expect(messages[1]?.text).toContain('"name":"read_file"');
  // The system prompt may have changed since an earlier request, or another process has sent the last one.
  for (const request of [backend.request('s-1', 1), open(new ScriptedModel([])).request('s-1')])
    expect((await request).messages[0]?.label).toBe('You: Hi');
});

const todos = [{ content: 'look', status: 'completed' }];
const script = [
  { text: 'Let me see', toolCalls: [{ name: 'todo_write', input: { todos } }] },
  { text: 'Nothing there.' },
];

describe('Backend', () => {
  it('tells a call, and a new process tells it the same', async () => {
    const backend = open(new ScriptedModel(script, { contextWindow: 16_000 }));
    await backend.send('s-1', 'Look around');
    await transcriptOnce(backend, answered(2));
    await closeAgents();
    const first = await transcriptOnce(backend, answered(2));
    expect(first.title).toBe('Look around');
    expect(textsOf(first)).toEqual([
      'Look around',
      'Let me see',
      'Todo list stored: 1 of 1 done.',
      'Nothing there.',
    ]);
    expect(first.todos).toEqual(todos);
    expect(first.call).toBeUndefined();

    expect(await transcriptOf(open(new ScriptedModel([])), 's-1')).toEqual(first);
  });

  it('counts the calls for the memory, failed ones too, and says that it failed', async () => {
    const usage = { inputTokens: 100, outputTokens: 1 };
    const model = new ScriptedModel([{ text: 'Hello.', usage }], { id: 'agent', contextWindow: 16_000 });
    const background = new ScriptedModel(Array(3).fill({ text: 'No.', usage }), { id: 'background' });
    const demo = createAgent({ model, background, embedded: false, data, repo: data });
    demos.push(demo);
    const backend = new Backend({ demo, counter: estimateCounter, info });
    await backend.send('s-1', 'Hi');
    const live: Sent[] = [];
    for await (const sent of backend.events('s-1', new AbortController().signal)) {
      live.push(sent);
      if (sent.type === 'memory.failed') break;
    }
    for (const transcript of [told(live), await transcriptOf(backend, 's-1')]) {
      expect(transcript).toMatchObject({ modelCalls: 4, memoryCalls: 3, usage: { inputTokens: 400 } });
      const skipped = 'The memory skips the newest part of session s-1';
      expect(noticesOf(transcript)).toMatchObject([{ level: 'warning' }]);
      expect(noticesOf(transcript)[0]?.message).toContain(skipped);
    }
  });

  it('lists sessions, the latest first', async () => {
    const backend = open(new ScriptedModel([{ text: 'one' }, { text: 'two' }]));
    for (const id of ['a', 'b']) {
      await backend.send(id, `Hello ${id}`);
      while ((await transcriptOf(backend, id)).modelCalls === 0 || (await backend.sessions())[0]?.running) {
        await new Promise((resolve) => setImmediate(resolve));
      }
    }
    expect((await backend.sessions()).map(({ id, title, running }) => ({ id, title, running }))).toEqual([
      { id: 'b', title: 'Hello b', running: false },
      { id: 'a', title: 'Hello a', running: false },
    ]);
  });

  it('lists a session by its first request, from the first call on and over compactions', async () => {
    let release = () => {};
    const model: Model = {
      id: 'slow',
      contextWindow: 16_000,
      async generate() {
        await new Promise<void>((resolve) => (release = resolve));
        const text = 'A long answer about the ports. '.repeat(60);
        return {
          content: [{ type: 'text', text }],
          finishReason: 'stop',
          usage: { inputTokens: 1, outputTokens: 1 },
        };
      },
    };
    const backend = open(model);
    const listed = async (from: Backend) =>
      (await from.sessions()).map(({ title, running }) => ({ title, running }));
    let calls = 6;
    const answer = async (call: number) => {
      release = () => {};
      await backend.send('s-1', call === 1 ? 'Survey it' : `And then, ${call}?`);
      await transcriptOnce(backend, ({ call: running }) => (running?.step ?? 0) > 0);
      if (call === 1) expect(await listed(backend)).toMatchObject([{ title: 'Survey it', running: true }]);
      await expect
        .poll(async () => {
          release();
          return (await transcriptOf(backend, 's-1')).modelCalls;
        })
        .toBe(call);
      await expect.poll(async () => (await backend.sessions())[0]?.running).toBe(false);
    };
    for (let call = 1; call <= calls; call++) await answer(call);
    // The second one sums up the first, whose summary is in the log from then on.
    for (const compactions of [1, 2]) {
      if (compactions === 2) await answer(++calls);
      await backend.compact('s-1');
      const { compactions: made } = await transcriptOnce(
        backend,
        ({ compactions: all }) => all.length === compactions,
      );
      expect(made.at(-1)).toMatchObject({ status: 'applied' });
      await expect.poll(async () => (await backend.sessions())[0]?.running).toBe(false);
    }
    const whole = [{ title: 'Survey it', running: false }];
    expect(await listed(backend)).toEqual(whole);
    await closeAgents();
    expect(await listed(open(new ScriptedModel([])))).toEqual(whole);
  });

  it('refuses changes while a call runs, and stops it when asked', async () => {
    const model: Model = {
      id: 'stuck',
      contextWindow: 16_000,
      generate: ({ signal }) =>
        new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason))),
    };
    const backend = open(model);
    await backend.send('s-1', 'Wait');
    await transcriptOnce(backend, ({ places }) => places.length > 0);
    for (const change of [
      () => backend.undo('s-1'),
      () => backend.compact('s-1'),
      () => backend.decide('s-1', {}),
    ])
      await expect(change()).rejects.toMatchObject({ code: 'session_busy' });
    await backend.stop('s-1');
    const stopped = await transcriptOnce(backend, ({ call }) => call === undefined);
    expect(noticesOf(stopped).at(-1)).toMatchObject({ code: 'interrupted' });
  });

  it('marks a call that the user stopped as stopped, not as failed', async () => {
    const slow = { name: 'execute', input: { command: 'sleep 600' } };
    const backend = open(new ScriptedModel([{ text: 'Let me see', toolCalls: [slow, slow] }]));
    await backend.send('s-1', 'Look around');
    await transcriptOnce(backend, ({ events }) => events.some(({ type }) => type === 'tool.call'));
    await backend.stop('s-1');
    const { toolRuns } = await transcriptOnce(backend, ({ events }) =>
      events.some(({ type }) => type === 'call.completed'),
    );
    expect([...toolRuns.values()].map(({ unmade }) => unmade)).toEqual(['stopped', 'stopped']);
  });

  it('tells every reader the same, also those who come while a call runs, and what happens between calls', async () => {
    let release = () => {};
    const model: Model = {
      id: 'slow',
      contextWindow: 16_000,
      generate: () => Promise.reject(new Error('only streams')),
      async *stream() {
        yield { type: 'text-delta', text: 'One ' };
        await new Promise<void>((resolve) => (release = resolve));
        yield { type: 'text-delta', text: 'answer.' };
        const usage = { inputTokens: 1, outputTokens: 1 };
        const content = [{ type: 'text' as const, text: 'One answer.' }];
        yield { type: 'response', response: { content, finishReason: 'stop', usage } };
      },
    };
    const backend = open(model);
    await backend.send('s-1', 'Hello');
    const left = new AbortController();
    const readers: Sent[][] = [[], []];
    const read = async (index: number) => {
      for await (const sent of backend.events('s-1', left.signal)) readers[index]?.push(sent);
    };
    const text = (index: number) =>
      readers[index]?.map((sent) => (sent.type === 'text.delta' ? sent.text : '')).join('');
    const reading = [read(0)];
    await expect.poll(() => text(0)).toBe('One ');
    reading.push(read(1));
    await expect.poll(() => text(1)).toBe('One ');
    release();
    await expect.poll(() => readers.map((items) => told(items).modelCalls)).toEqual([1, 1]);
    // Someone reads who comes when all is over.
    const stored = await transcriptOf(backend, 's-1');
    left.abort();
    await Promise.all(reading);
    for (const items of readers) {
      const { blocks, todos, fates, usage } = told(items);
      expect({ blocks, todos, fates, usage }).toMatchObject({
        blocks: stored.blocks,
        todos: stored.todos,
        fates: stored.fates,
        usage: stored.usage,
      });
    }
  });

  it('goes on with what another process left unfinished', async () => {
    await die('Hello');
    const backend = open(new ScriptedModel([{ text: 'Here I am' }]));
    expect(await backend.resumeAll()).toBe(1);
    expect(textsOf(await transcriptOnce(backend, answered(1))).at(-1)).toBe('Here I am');
    expect(await open(new ScriptedModel([])).resumeAll()).toBe(0);
  });

  it('does not tell of a step that another process logged but never stored', async () => {
    await die('Hello');
    const model = new ScriptedModel([{ text: 'Here I am' }]);
    const { agent } = createAgent({ model, embedded: true, data, repo: data });
    const lost = assistantMessage([{ type: 'tool_use', id: 'lost', name: 'grep', input: { pattern: 'x' } }]);
    await agent.log(RuntimeContext.of({ sessionId: 's-1' })).append([lost]);

    const backend = open(model);
    expect(await backend.resumeAll()).toBe(1);
    const now = await transcriptOnce(backend, answered(1));
    expect(textsOf(now)).toEqual(['Hello', 'Here I am']);
    const later = await transcriptOf(open(new ScriptedModel([])), 's-1');
    expect(later.blocks).toEqual(now.blocks);
  });

  it('takes a compaction back', async () => {
    const rounds = Array.from({ length: 14 }, (_, round) => ({
      toolCalls: [{ name: 'execute', input: { command: `seq ${round} ${round + 400}` } }],
    }));
    const backend = open(new ScriptedModel([...rounds, { text: 'Done' }], { contextWindow: 200_000 }));
    await backend.send('s-1', 'Count');
    const before = await transcriptOnce(backend, answered(15));
    while ((await backend.sessions())[0]?.running) await new Promise((resolve) => setImmediate(resolve));
    await backend.compact('s-1');
    const compacted = await transcriptOnce(backend, ({ compactions }) => compactions.length > 0);
    expect(compacted.compactions).toMatchObject([{ status: 'applied', undone: false }]);
    expect(compacted.fates.size).toBeGreaterThan(0);

    while ((await backend.sessions())[0]?.running) await new Promise((resolve) => setImmediate(resolve));
    await backend.undo('s-1');
    const restored = await transcriptOnce(backend, ({ fates }) => fates.size === 0);
    expect(restored.compactions).toMatchObject([{ undone: true }]);
    const total = ({ places }: Told) => places.at(-1)?.context.total ?? 0;
    expect(total(restored)).toBeGreaterThanOrEqual(total(before));
    expect(total(compacted)).toBeLessThan(total(before));
    await expect(backend.undo('s-1')).rejects.toMatchObject({ code: 'nothing_to_undo' });
    expect((await transcriptOf(open(new ScriptedModel([])), 's-1')).fates.size).toBe(0);
  });

  it('tells a failure in words, without those of the error, and keeps what was said', async () => {
    const backend = open(new ScriptedModel([{ error: new Error('no network') }], { contextWindow: 16_000 }));
    await backend.send('s-1', 'Hello');
    const failed = await transcriptOnce(backend, (now) => noticesOf(now).length > 0);
    expect(noticesOf(failed).at(-1)).toMatchObject({
      level: 'error',
      message: expect.stringMatching(/^The server failed/),
    });
  });

  it('shows a warning in its own words', async () => {
    const backend = open(new ScriptedModel([{ text: 'Hello.' }], { contextWindow: 16_000 }));
    await backend.send('s-1', 'Hi');
    await transcriptOnce(backend, answered(1));
    await expect.poll(async () => (await backend.state('s-1')).running).toBe(false);
    await backend.compact('s-1', { instructions: 'keep redis' });
    const compacted = await transcriptOnce(backend, ({ compactions }) => compactions.length === 1);
    expect(noticesOf(compacted)).toMatchObject([
      { level: 'warning', message: expect.stringContaining('The instructions had no effect') },
    ]);
  });

  it('finds conversations by what was said in them, also where it was removed', async () => {
    const backend = open(
      new ScriptedModel([
        {
          text: 'Paris, by the Seine.',
          toolCalls: [{ name: 'todo_write', input: { todos: [{ ...todos[0], content: 'rivers' }] } }],
        },
        { text: 'That is all.' },
        { text: 'Bern.' },
      ]),
    );
    for (const [id, text] of [
      ['fr', 'What is the capital of France?'],
      ['ch', 'And of Switzerland?'],
    ] as const) {
      await backend.send(id, text);
      await transcriptOnce(backend, answered(id === 'fr' ? 2 : 1), id);
    }
    const found = async (...words: string[]) =>
      (await backend.sessions(words)).map(({ id, found }) => [id, found?.text]);
    expect(await found('seine')).toEqual([['fr', expect.stringMatching(/^Paris, by the Seine\./)]]);
    expect(await found('CAPITAL', 'france')).toEqual([['fr', 'What is the capital of France?']]);
    expect(await found('capital', 'bern')).toEqual([]);
    expect(await found('todo_write', 'rivers')).toEqual([['fr', expect.stringContaining('todo_write')]]);
    const [hit] = await backend.sessions(['seine']);
    const { messages } = await transcriptOf(backend, 'fr');
    expect(textOf(messages.get(hit?.found?.messageId ?? '') ?? [])).toBe('Paris, by the Seine.');
    expect((await found()).length).toBe(2);
  });

  it('deletes a session with its log', async () => {
    const backend = open(new ScriptedModel([{ text: 'Hi' }]));
    await backend.send('s-1', 'Hello');
    await transcriptOnce(backend, answered(1));
    await backend.remove('s-1');
    expect(await backend.sessions()).toEqual([]);
    await expect(transcriptOf(backend, 's-1')).rejects.toMatchObject({ code: 'session_not_found' });
  });

  it('knows no session that never was, and reads no file outside the workspace', async () => {
    const backend = open(new ScriptedModel([]));
    await expect(transcriptOf(backend, 'none')).rejects.toMatchObject({ code: 'session_not_found' });
    await expect(backend.compact('none')).rejects.toMatchObject({ code: 'session_not_found' });
    await expect(backend.readFile('../x')).rejects.toMatchObject({
      name: 'WorkspaceError',
    });
  });
});

it('reads the beginning of a large file, and says how large it is', async () => {
  const backend = open(new ScriptedModel([]));
  await demos[0]?.agent.storage.write('notes.txt', new TextEncoder().encode('a'.repeat(2_000_000)));
  const { text, size } = await backend.readFile('notes.txt');
  expect([text.length, size]).toEqual([1_048_576, 2_000_000]);
});

it('passes on what is said while the agent works, at its next step', async () => {
  const requests: string[][] = [];
  let release = () => {};
  const model: Model = {
    id: 'slow',
    contextWindow: 16_000,
    async generate({ messages }) {
      requests.push(messages.flatMap((message) => (message.role === 'user' ? [textOf(message)] : [])));
      if (requests.length === 1) await new Promise<void>((resolve) => (release = resolve));
      return {
        content: [{ type: 'text', text: `Answer ${requests.length}` }],
        finishReason: 'stop',
        usage: { inputTokens: 1, outputTokens: 1 },
      };
    },
  };
  const backend = open(model);
  await backend.send('s-1', 'Begin');
  await expect.poll(() => requests.length).toBe(1);
  await transcriptOnce(backend, ({ call }) => call !== undefined);
  await backend.send('s-1', 'And mind the ports');
  release();
  await transcriptOnce(backend, ({ call, modelCalls }) => call === undefined && modelCalls === 2);
  expect(requests[1]?.at(-1)).toBe('And mind the ports');
});

it.each(['stop', 'remove'] as const)('sends nothing that is queued by itself after a %s', async (end) => {
  let requests = 0;
  const model: Model = {
    id: 'slow',
    contextWindow: 16_000,
    generate: ({ signal }) =>
      new Promise((_, reject) => {
        requests++;
        signal?.addEventListener('abort', () => reject(signal.reason));
      }),
  };
  const backend = open(model);
  await backend.send('s-1', 'Begin');
  await expect.poll(() => requests).toBe(1);
  await backend.send('s-1', 'And mind the ports');
  await backend.send('s-1', 'And the hosts');
  const { queued } = await backend.state('s-1');
  expect(queued.map(textOf)).toEqual(['And mind the ports', 'And the hosts']);
  const returned = await backend[end]('s-1');
  if (end === 'stop') {
    expect(returned).toEqual(['And mind the ports', 'And the hosts']);
    const { messages } = await transcriptOnce(backend, ({ call }) => call === undefined);
    expect([...messages.values()].map(textOf)).not.toContain('And mind the ports');
    expect(await backend.stop('s-1')).toEqual([]);
  }
  // A new session is stored after whatever the first one would still begin.
  await backend.send('s-2', 'Other');
  await expect.poll(() => requests).toBeGreaterThan(1);
  expect((await backend.sessions()).filter(({ id, running }) => id === 's-1' && running)).toEqual([]);
  await backend.stop('s-2');
  await transcriptOnce(backend, ({ call }) => call === undefined, 's-2');
  expect(requests).toBe(2);
});

it.each([401, 403])(
  'says that the model refused the key, and what to check, after HTTP %s',
  async (status) => {
    const generate = () => Promise.reject(new ModelError('secret sk-1', { status }));
    const backend = open({ id: 'locked', contextWindow: 16_000, generate });
    await backend.send('s-1', 'Hi');
    const transcript = await transcriptOnce(backend, (each) => !each.running && noticesOf(each).length > 0);
    const [{ message } = { message: '' }] = noticesOf(transcript);
    expect(message).toMatch(/^The server of the model refused the key\. Check OPENAI_API_KEY, /);
    expect(message).not.toContain('sk-1');
  },
);
