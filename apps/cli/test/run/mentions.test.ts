import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { InMemorySession, RuntimeContext, textOf, toolResultsOf } from '@x/core';
import { eventLog, HarnessAgent, permissions, shell, workspaceTools } from '@x/harness';
import { type ScriptEntry, ScriptedModel } from '@x/testkit';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { chat } from '../../src/terminal/chat.js';
import { FakeTerminal } from '../support/fake-terminal.js';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'x-mentions-'));
  mkdirSync(join(directory, 'src'));
  writeFileSync(join(directory, 'src', 'answer.ts'), 'export const answer = 42;\n');
  writeFileSync(join(directory, 'src', 'angle.ts'), '');
  writeFileSync(join(directory, '.env'), 'KEY=secret\n');
});
afterEach(() => rmSync(directory, { recursive: true, force: true, maxRetries: 20 }));

/** A chat on a terminal of an agent that reads files, except .env, and runs commands. */
function open(first: ScriptEntry = { text: 'First.' }) {
  const model = new ScriptedModel([first, { text: 'Second.' }]);
  const agent = HarnessAgent.builder()
    .model(model)
    .workspace(directory)
    .session(new InMemorySession())
    .use(permissions({ deny: ['read_file(.env)'] }), workspaceTools(), shell())
    .build();
  const [input, output] = [new PassThrough(), Object.assign(new PassThrough(), { isTTY: true })];
  const terminal = new FakeTerminal();
  output.on('data', (chunk) => terminal.write(String(chunk)));
  const ended = chat({
    goOn: (session) => `x run --session ${session}`,
    agent,
    context: RuntimeContext.of({ sessionId: 's-1' }),
    model: 'm\u001b[2J\n',
    events: eventLog(),
    input,
    output,
    style: (_format, text) => text,
    sessions: async () => [],
  });
  return {
    model,
    terminal,
    press: (keys: string) => void input.write(keys),
    seen: (text: string | RegExp) =>
      vi.waitFor(() => expect(terminal.text).toMatch(text), { timeout: 120_000 }),
    typed: (text: string) => vi.waitFor(() => expect(terminal.typed).toBe(text), { timeout: 120_000 }),
    results: (request: number) =>
      (model.requests[request]?.messages ?? []).flatMap(toolResultsOf).map(({ output }) => textOf(output)),
    async leave() {
      input.end();
      await ended;
      await agent.close();
    },
  };
}

describe('a file behind @', () => {
  it('is completed by Tab, with a list of what fits', async () => {
    const { press, seen, typed, leave } = open();
    await seen('>');
    press('Look at @s\t');
    await typed('> Look at @src/');
    press('an\t');
    await seen(/@src\/angle\.ts {2}@src\/answer\.ts/);
    press('s\t');
    await typed('> Look at @src/answer.ts ');
    await leave();
  });

  it('is not offered if its name would change the line or the terminal', async () => {
    for (const name of ['an\ngle.ts', 'an\u001b[2Jgle.ts']) writeFileSync(join(directory, 'src', name), '');
    const { press, seen, typed, leave } = open();
    await seen('>');
    press('@src/an\t');
    await seen(/@src\/angle\.ts {2}@src\/answer\.ts/);
    press('g\t');
    await typed('> @src/angle.ts ');
    await leave();
  });

  it('is read for the model by the rules of the agent', async () => {
    const { terminal, press, seen, results, leave } = open();
    await seen('>');
    press('Compare @src/answer.ts, @.env, @src, me@src and @nothing.ts.\r');
    await seen(/nothing\.ts: file not found\. Only your text is sent\.[\s\S]*First\./);
    const [answer = '', denied = '', ...more] = results(0);
    expect(answer).toContain('export const answer = 42;');
    expect(denied).toMatch(/^Denied by the rule read_file\(\.env\)/);
    expect(more).toEqual([]);
    expect(terminal.text).toContain('src: not a file. Only your text is sent.');
    expect(terminal.text).not.toContain('.env: ');
    await leave();
  });
});

it('is read too if a call runs while the question is typed', async () => {
  let go = () => {};
  const held = new Promise<void>((resolve) => {
    go = resolve;
  });
  const { press, seen, results, leave } = open(async () => {
    await held;
    return { text: 'First.' };
  });
  await seen('>');
  press('Wait\r');
  await seen('working');
  press('Compare @src/answer.ts\r');
  await seen('queued: Compare @src/answer.ts');
  go();
  await seen('Second.');
  expect(results(1)).toEqual([expect.stringContaining('export const answer = 42;')]);
  await leave();
});

it('runs a command behind ! as the user, and the agent reads its output with the next message', async () => {
  const { model, terminal, press, seen, results, leave } = open();
  await seen('>');
  press('!echo out; echo err >&2; exit 3\r');
  await seen(/exit 3\nout\nerr\n/);
  expect(model.requests).toHaveLength(0);
  press('What happened?\r');
  await seen('First.');
  expect(results(0)).toEqual(['exit 3\nout\nerr']);
  expect(terminal.text.match(/exit 3$/gm)).toHaveLength(2);
  press('And now?\r');
  await seen('Second.');
  expect(results(1)).toEqual(['exit 3\nout\nerr']);
  await leave();
});

it('stops a command behind ! by Escape', async () => {
  const { press, seen, leave } = open();
  await seen('>');
  press('!echo begun; exec tail -f /dev/null\r');
  await seen(/working \d+ s, Esc stops/);
  press('\u001B');
  await seen(/stopped by the user after \d+ s/);
  await leave();
});

it('shows the name of a model in one row, whatever is in it', async () => {
  const { seen, leave } = open();
  await seen(/^m\\u\{1b\}\[2J$/m);
  await leave();
});
