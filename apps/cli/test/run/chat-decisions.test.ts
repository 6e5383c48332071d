import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { compaction } from '@x/compaction';
import {
  InMemorySession,
  type Message,
  type Model,
  ModelError,
  RuntimeContext,
  type SessionStore,
  textOf,
} from '@x/core';
import { eventLog, HarnessAgent, permissions, planMode, workspaceTools } from '@x/harness';
import { ScriptedModel } from '@x/testkit';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { chat } from '../../src/terminal/chat.js';
import { FakeTerminal } from '../support/fake-terminal.js';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'x-chat-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true, maxRetries: 20 }));

const plain = (_format: unknown, text: string) => text;
const TIMEOUT = { timeout: 120_000 };
const asking = { toolCalls: [{ name: 'write_file', input: { path: 'a.txt', content: '1' } }] };

/** A chat whose screen can be waited for. */
function open(model: Model, session: SessionStore, { isTTY = false, input = new PassThrough() } = {}) {
  const events = eventLog();
  const agent = HarnessAgent.builder()
    .model(model)
    .workspace(directory)
    .session(session)
    .use(compaction({ keep: { messages: 1 } }), permissions(), planMode())
    .use(workspaceTools(), events)
    .build();
  const output = Object.assign(new PassThrough(), { isTTY });
  const terminal = new FakeTerminal();
  output.on('data', (chunk) => terminal.write(String(chunk)));
  const context = RuntimeContext.of({ sessionId: 's-1' });
  const ended = chat({
    goOn: (session) => `x run --session ${session}`,
    agent,
    context,
    model: 'm',
    events,
    input,
    output,
    style: plain,
    sessions: async () => [],
  });
  return {
    input,
    seen: (text: string | RegExp) => vi.waitFor(() => expect(terminal.text).toMatch(text), TIMEOUT),
    screen: () => terminal.text,
    async ended() {
      await ended;
      await agent.close();
    },
    async leave() {
      input.end();
      await ended;
      await agent.close();
    },
  };
}

it('shows the plan that is to be approved, and the rule that "always" would keep', async () => {
  const model = new ScriptedModel([
    { toolCalls: [{ name: 'plan_enter', input: {} }] },
    { toolCalls: [{ name: 'plan_write', input: { content: '# Cut the red wire' } }] },
    { toolCalls: [{ name: 'plan_exit', input: {} }] },
    { toolCalls: [{ name: 'write_file', input: { path: 'wire.txt', content: 'cut' } }] },
    { text: 'Cut.' },
  ]);
  const { input, seen, leave } = open(model, new InMemorySession());
  await seen('>');
  input.write('Go\n');
  await seen(/# Cut the red wire\s+Let it /);
  input.write('y\n');
  await seen('"Always" would allow write_file(wire.txt)');
  input.write('a\n');
  await seen('Cut.');
  await leave();
});

it('says what waits in the session that it opens', async () => {
  const session = new InMemorySession();
  const first = open(new ScriptedModel([asking]), session);
  await first.seen('>');
  first.input.write('Go\n');
  await first.seen('Let it ');
  await first.leave();

  const second = open(new ScriptedModel([{ text: 'Written.' }]), session);
  await second.seen('Waiting for your decision: write_file. /resume asks for it');
  second.input.write('/resume\n');
  await second.seen('Let it ');
  second.input.write('y\n');
  await second.seen('Written.');
  await second.leave();
});

it('shows how full the window is with one figure after a reply, a compaction and an undo', async () => {
  const lines = Array.from({ length: 150 }, (_, at) => `Line ${at} of the answer.`).join('\n');
  const model = new ScriptedModel(
    [{ text: 'Hi.' }, { text: lines }, { text: 'Done.' }, { text: 'Lines.' }, { text: 'Lines.' }],
    { contextWindow: 20_000 },
  );
  const { input, seen, screen, ended } = open(model, new InMemorySession(), { isTTY: true });
  const status = () => / (\d+) % of 20k/.exec(screen().split('\n').at(-1) ?? '')?.[1];
  const said = (pattern: RegExp) => pattern.exec(screen())?.[1];
  await seen('>');
  input.write('Hello\r');
  await seen(/window \d+ % full/);
  const before = Number(status());
  input.write('Tell me\r');
  await seen(/149 of the answer[\s\S]*window \d+ % full/);
  expect(Number(status())).toBeGreaterThan(before + 3);
  expect(said(/149 of the answer[\s\S]*window (\d+) % full/)).toBe(status());
  input.write('Go on\r');
  await seen(/Done\.[\s\S]*window \d+ % full/);
  const full = status();
  input.write('/compact\r');
  await seen(/Compacted: [\s\S]*The window is \d+ %\s+full\./);
  await vi.waitFor(() => expect(status()).not.toBe(full), TIMEOUT);
  expect(said(/undoes it\.\s+The window is (\d+) %/)).toBe(status());
  input.write('/undo\r');
  await seen(/The compaction was undone[\s\S]*% full:\s+no/);
  await vi.waitFor(() => expect(status()).toBe(full), TIMEOUT);
  expect(said(/The compaction was undone[\s\S]*The window is (\d+) %/)).toBe(full);
  input.write('/exit\r');
  await ended();
});

it('says that a call was decided in another terminal, and drops the question', async () => {
  const session = new InMemorySession();
  const first = open(new ScriptedModel([asking, { text: 'Unused.' }]), session);
  await first.seen('>');
  first.input.write('Go\n');
  await first.seen('Let it ');
  const second = open(new ScriptedModel([{ text: 'Written.' }]), session);
  await second.seen('/resume asks for it');
  second.input.write('/resume\n');
  await second.seen('Let it ');
  second.input.write('y\n');
  await second.seen('Written.');
  await second.leave();
  first.input.write('y\n');
  await first.seen(/This was already\s+decided in another terminal\./);
  expect(first.screen()).not.toContain('pendingCalls(');
  expect(first.screen()).not.toContain('Waiting for your decision');
  first.input.write('/exit\n');
  await first.ended();
});

it('says that the last call of the session that it opens has not ended', async () => {
  const session = new InMemorySession();
  let asked = 0;
  const hanging: Model = {
    id: 'hanging',
    generate: ({ signal }) => {
      asked++;
      return new Promise((_, reject) => {
        signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
      });
    },
  };
  const first = open(hanging, session, { isTTY: true });
  await first.seen('>');
  first.input.write('Go\r');
  await vi.waitFor(() => expect(asked).toBe(1), TIMEOUT);
  const second = open(new ScriptedModel([]), session);
  await second.seen(/unless another process runs it\. \/resume continues\s+it\./);
  await second.leave();
  first.input.write('\u0003');
  await vi.waitFor(() => expect(first.screen()).not.toContain('working'), TIMEOUT);
  await first.leave();
});

it('stops a compaction by Ctrl-C, and goes on', async () => {
  const words = 'Look at src/login.ts again. '.repeat(400);
  const usage = { inputTokens: 9, outputTokens: 9 };
  let answers = 0;
  let summaries = 0;
  const model: Model = {
    id: 'slow',
    async generate({ signal }) {
      // What comes behind the three rounds is the request for a summary.
      if (answers++ < 3) return { content: [{ type: 'text', text: words }], finishReason: 'stop', usage };
      summaries++;
      return new Promise((_, reject) => {
        signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
      });
    },
  };
  const { input, seen, screen, leave } = open(model, new InMemorySession(), { isTTY: true });
  await seen('>');
  for (const round of [1, 2, 3]) {
    input.write(`${words}\r`);
    await vi.waitFor(() => expect(screen().split('· 9 out')).toHaveLength(round + 1), TIMEOUT);
  }
  input.write('/compact\r');
  await vi.waitFor(() => expect(summaries).toBe(1), TIMEOUT);
  input.write('\u0003');
  await seen(/Not compacted \(aborted\)/);
  input.write('/context\r');
  await seen('Messages: 6.');
  await leave();
});

it.each(['\u0003', '\u001b', 'w\u0003'])(
  'leaves a question by Ctrl-C or Escape, and asks again when told to: %j',
  async (keys) => {
    const model = new ScriptedModel([asking, { text: 'Written.' }]);
    const { input, seen, screen, leave } = open(model, new InMemorySession(), { isTTY: true });
    await seen('>');
    input.write('Go\r');
    await seen('Let it ');
    for (const key of keys) {
      input.write(key);
      if (key === 'w') await seen('Why not?');
    }
    await seen('Waiting for your decision: write_file. /resume asks for it');
    input.write('/resume\r');
    await vi.waitFor(() => expect(screen().split('Let it ')).toHaveLength(3), TIMEOUT);
    input.write('y\r');
    await seen('Written.');
    await leave();
  },
);

it.each(['\u0004', '/exit\r'])('ends from a question, and reads nothing more: %j', async (keys) => {
  const { input, seen, ended } = open(new ScriptedModel([asking]), new InMemorySession(), { isTTY: true });
  await seen('>');
  input.write('Go\r');
  await seen('Let it ');
  input.write(keys);
  await ended();
  await seen('Go on with: x run --session s-1');
  expect(input.isPaused()).toBe(true);
});

it('sends what is pasted as one message, with what stands in the line', async () => {
  const model = new ScriptedModel([{ text: 'One.' }, { text: 'Two.' }]);
  const { input, seen, leave } = open(model, new InMemorySession(), { isTTY: true });
  await seen('>');
  input.write('Fix this:\rfirst\rlast');
  await new Promise((resolve) => setImmediate(resolve));
  expect(model.requests).toHaveLength(0);
  input.write(' line\r');
  await seen('One.');
  input.write('/help\rthen');
  await new Promise((resolve) => setImmediate(resolve));
  input.write('\r');
  await seen('Two.');
  const said = model.requests.map(({ messages }) => textOf(messages.at(-1) as Message));
  expect(said).toEqual(['Fix this:\nfirst\nlast line', '/help\nthen']);
  await leave();
});

it('drops what was pasted by Ctrl-C, on the way out too', async () => {
  const model = new ScriptedModel([{ text: 'One.' }]);
  const { input, seen, screen, ended } = open(model, new InMemorySession(), { isTTY: true });
  await seen('>');
  input.write('secret\rlast');
  await new Promise((resolve) => setImmediate(resolve));
  input.write('\u0003Hello\r');
  await seen(/One\.[\s\S]* out/);
  await vi.waitFor(() => expect(screen()).not.toContain('working'), TIMEOUT);
  input.write('secret\rx');
  await new Promise((resolve) => setImmediate(resolve));
  input.write('\u007f\u0003');
  await new Promise((resolve) => setImmediate(resolve));
  input.write('\u0003\u0003');
  await ended();
  expect(model.requests.map(({ messages }) => textOf(messages.at(-1) as Message))).toEqual(['Hello']);
});

it('ends by the second Ctrl-C in an empty line, or by Ctrl-D at once', async () => {
  const first = open(new ScriptedModel([]), new InMemorySession(), { isTTY: true });
  await first.seen('>');
  first.input.write('\u0003');
  await first.seen(/\n>\nPress Ctrl-C again to quit$/);
  // Another key keeps the chat, and the next Ctrl-C only clears the line.
  first.input.write('a');
  await first.seen(/\n> a\nm$/);
  first.input.write('\u0003');
  await first.seen(/\n>\nm$/);
  first.input.write('\u0003');
  await first.seen(/\n>\nPress Ctrl-C again to quit$/);
  first.input.write('\u0003');
  await first.ended();
  const second = open(new ScriptedModel([]), new InMemorySession(), { isTTY: true });
  await second.seen('>');
  second.input.write('\u0004');
  await second.ended();
});

it.each(['a bit shorter, please\r', 'yes but use tabs\r', 'a\rb\r', 'y\ry\r', 'yes, go'])(
  'takes no text that was meant for the agent for an answer: %j',
  async (keys) => {
    const { input, seen, screen, leave } = open(new ScriptedModel([asking]), new InMemorySession(), {
      isTTY: true,
    });
    await seen('>');
    input.write('Go\r');
    await seen('Let it ');
    input.write(keys);
    // What was pasted without a line break stays in the line.
    await seen(keys.endsWith('\r') ? 'Nothing is decided yet' : `) ${keys}`);
    input.write('\u0003');
    await seen('Waiting for your decision: write_file');
    expect(screen()).not.toContain('1 byte');
    await leave();
  },
);

it('gives back what was typed for a call that Ctrl-C stops, and then clears the line', async () => {
  const requests: string[] = [];
  const model: Model = {
    id: 'slow',
    async generate({ messages, signal }) {
      requests.push(textOf(messages.at(-1) as Message));
      if (requests.length > 1) return { content: [{ type: 'text', text: 'Done.' }], finishReason: 'stop' };
      return new Promise((_, reject) => {
        signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
      });
    },
  };
  const { input, seen, leave } = open(model, new InMemorySession(), { isTTY: true });
  await seen('>');
  input.write('A long task\r');
  await vi.waitFor(() => expect(requests).toHaveLength(1), TIMEOUT);
  input.write('Be short\r');
  await seen('queued: Be short');
  input.write('half a line');
  await seen('> half a line');
  input.write('\u0003');
  await seen(/Not sent\. The text is back in the input line\.[\s\S]*> Be short\nhalf a line\n/);
  input.write('\u0003Hello\r');
  await seen('Done.');
  expect(requests).toEqual(['A long task', 'Hello']);
  await leave();
});

it('shows the last exchange of the session that it opens, and how many messages are before', async () => {
  const session = new InMemorySession();
  const long = Array.from({ length: 30 }, (_, at) => `line ${at}`).join('\n');
  const first = open(new ScriptedModel([{ text: 'One.' }, asking, { text: long }]), session);
  await first.seen(/new session s-1[^\n]*\n>/);
  expect(first.screen()).not.toContain('earlier');
  first.input.write('First\n');
  await first.seen('One.');
  first.input.write('Second\n');
  await first.seen('Let it ');
  first.input.write('y\n');
  await first.seen('line 29');
  await first.leave();
  const second = open(new ScriptedModel([]), session);
  await second.seen(
    /^… 2 earlier messages\n> Second\nline 0\n[\s\S]*line 11\n {2}… 18 more lines\nagent · session s-1/,
  );
  await second.leave();
});

it('says that an edit changes nothing, and shows a change once', async () => {
  const edit = (newText: string) => ({
    toolCalls: [{ name: 'edit_file', input: { path: 'a.txt', oldText: 'one', newText } }],
  });
  writeFileSync(join(directory, 'a.txt'), 'one');
  const model = new ScriptedModel([edit('one'), edit('two'), { text: 'Done.' }]);
  const { input, seen, screen, leave } = open(model, new InMemorySession());
  await seen('>');
  input.write('Go\n');
  await seen(/It wants to edit a\.txt\.[\s\S]*\n… 1 unchanged line: no change\n/);
  input.write('y\n');
  await seen(/\n- one\n\+ two\n/);
  input.write('y\n');
  await seen('Done.');
  expect(screen().match(/\+ two/g)).toHaveLength(1);
  expect(screen().match(/● edit_file a\.txt\n {2}Replaced/g)).toHaveLength(2);
  await leave();
});

it('answers commands that read while a call runs, lets others wait, and leaves by /exit', async () => {
  const model: Model = {
    id: 'slow',
    generate: ({ signal }) =>
      new Promise((_, reject) => {
        signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
      }),
  };
  const { input, seen, screen, ended } = open(model, new InMemorySession(), { isTTY: true });
  await seen('>');
  input.write('A long task\r');
  await seen('working');
  input.write('/cost\r');
  await seen(/> \/cost\nCompaction has not saved any tokens yet\./);
  input.write('/explain\r');
  await seen(/> \/explain\n# What the model no longer sees/);
  input.write('/help\r');
  await seen(/> \/help\n[\s\S]*\/exit +ends the chat/);
  input.write('/undo\r');
  await seen('/undo waits for the end of the running call.');
  expect(screen()).toContain('working');
  expect(screen()).not.toContain('There is nothing to undo.');
  input.write('/exit\r');
  await ended();
  expect(screen()).toMatch(/There is nothing to undo\.[\s\S]*Go on with: x run --session s-1/);
});

it('shows for how many seconds a call has run, without a key', async () => {
  const clock = vi.spyOn(performance, 'now').mockReturnValue(5_000);
  const model: Model = {
    id: 'slow',
    generate: ({ signal }) =>
      new Promise((_, reject) => {
        signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
      }),
  };
  const { input, seen, screen, leave } = open(model, new InMemorySession(), { isTTY: true });
  await seen('>');
  expect(screen()).not.toContain('working');
  input.write('A long task\r');
  await seen(/working 0 s, Esc stops · .*m$/);
  clock.mockReturnValue(66_999);
  await seen(/working 61 s, Esc stops · .*m$/);
  input.write('\u001b');
  await vi.waitFor(() => expect(screen()).not.toContain('working'), TIMEOUT);
  clock.mockRestore();
  await leave();
});

it('says how to go on when the model still fails after its retries', async () => {
  const model: Model = {
    id: 'down',
    generate: async () => {
      throw new ModelError('It is down.', { modelId: 'down', retryable: true });
    },
  };
  const { input, seen, screen, leave } = open(model, new InMemorySession(), { isTTY: true });
  await seen('>');
  input.write('Hello\r');
  await seen('The model still fails. x doctor checks its server. To try again: /resume');
  expect(screen().match(/It is down\./g)).toHaveLength(1);
  await leave();
});

it('folds a long paste into one row, and sends all of it', async () => {
  const model = new ScriptedModel([{ text: 'Read.' }]);
  const { input, seen, screen, leave } = open(model, new InMemorySession(), { isTTY: true });
  await seen('>');
  const lines = Array.from({ length: 120 }, (_, at) => `line ${at}`);
  input.write(`\u001B[200~${lines.join('\r')}\r\u001B[201~`);
  await seen(/> \[pasted 120 lines\]\n\nm$/);
  expect(screen()).not.toContain('line 1\n');
  input.write('\r');
  await seen('Read.');
  expect(textOf(model.requests[0]?.messages.at(-1) as Message)).toBe(`${lines.join('\n')}\n`);
  await leave();
});

it('ends when the terminal was closed, whose mode can no longer be reset', async () => {
  const setRawMode = vi.fn((isRaw: boolean) => {
    if (!isRaw) throw new Error('setRawMode EIO');
  });
  const input = Object.assign(new PassThrough(), { setRawMode });
  const { seen, leave } = open(new ScriptedModel([]), new InMemorySession(), { isTTY: true, input });
  await seen('new session s-1');
  await leave();
  expect(setRawMode.mock.calls).toEqual([[true], [false]]);
});
