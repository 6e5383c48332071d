import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { compaction } from '@x/compaction';
import { type Capability, InMemorySession, RuntimeContext, toolUsesOf } from '@x/core';
import { eventLog, HarnessAgent, permissions, planMode, subagents, todoList } from '@x/harness';
import { ScriptedModel } from '@x/testkit';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { shellCommand } from '../../src/command.js';
import { chat } from '../../src/terminal/chat.js';
import { completionsOf } from '../../src/terminal/slash-commands.js';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'x-chat-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true, maxRetries: 20 }));

const plain = (_format: unknown, text: string) => text;

/** A chat with a scripted model, and a person who types a line whenever the prompt is there. */
async function converse(
  script: ConstructorParameters<typeof ScriptedModel>[0],
  lines: readonly string[],
  guards: readonly Capability[] = [permissions(), planMode()],
  sessionId = 's-1',
  store = new InMemorySession(),
) {
  const model = new ScriptedModel(script);
  const events = eventLog();
  const agent = HarnessAgent.builder()
    .model(model)
    .workspace(directory)
    .session(store)
    .use(compaction({ model: null, keep: { messages: 1 } }), todoList(), events, ...guards)
    .build();
  const [input, output] = [new PassThrough(), new PassThrough()];
  let shown = '';
  output.on('data', (chunk) => {
    shown += chunk;
  });
  const context = RuntimeContext.of({ sessionId });
  const sessions = async () => [];
  const done = chat({
    agent,
    context,
    model: 'scripted',
    events,
    input,
    output,
    style: plain,
    sessions,
    goOn: (session) => shellCommand(['run', 'agent.yaml'], { session }),
  });
  for (const [index, line] of lines.entries()) {
    await vi.waitFor(() => expect(shown.split('> ').length).toBeGreaterThan(index + 1), {
      timeout: 120_000,
    });
    input.write(`${line}\n`);
  }
  input.end();
  await done;
  await agent.close();
  return { shown, model, agent };
}

describe('a chat', () => {
  it('answers line by line, and says how to come back', async () => {
    const { shown, model } = await converse([{ text: 'Hi.' }, { text: 'Bye.' }], ['Hello', 'And now?']);
    expect(shown).toContain('Hi.\n');
    expect(shown).toContain('Bye.\n');
    expect(shown).toContain('--session s-1');
    expect(model.requests).toHaveLength(2);
  });

  it('says how to come back so that a shell runs no part of a session’s name', async () => {
    const { shown } = await converse([], [], undefined, 'a; touch ran');
    expect(shown).toContain("Go on with: x run agent.yaml --session 'a; touch ran'\n");
  });

  it('compacts, takes it back, and shows todos', async () => {
    const { shown } = await converse(
      [
        {
          toolCalls: [
            { name: 'todo_write', input: { todos: [{ content: 'Look around', status: 'pending' }] } },
          ],
        },
        { text: 'Noted.' },
        { text: 'Long. '.repeat(500) },
        { text: 'Done.' },
      ],
      [
        'Plan',
        'Tell me',
        'Go on',
        '/tasks',
        '/pin',
        '/pin r99',
        '/pin Amounts are in cents.',
        '/pin r1',
        '/compact from r99',
        '/compact',
        '/explain',
        '/pin',
        '/unpin p1',
        '/unpin p1',
        '/unpin',
        '/undo',
        '/undo',
        '/context',
        '/permissions',
        '/plan',
      ],
    );
    expect(shown).toContain('[ ] Look around');
    expect(shown).toMatch(
      /Compacted: [\d.]+k → [\d.]+k tokens, \d+ saved in each request\. 4 of 8 messages are gone or shortened: \/explain lists them\. \/undo undoes it\.[^\n]*\n> # What the model no longer sees\n\n4 of 8 messages are gone/,
    );
    expect(shown).toContain('Nothing is pinned.');
    expect(shown).toContain('There is no message r99.');
    expect(shown).toContain('Pinned; /unpin p1 removes the pin: Amounts are in cents.');
    expect(shown).toContain('There is no message before r99.');
    expect(shown).toMatch(/# What the model no longer sees[\s\S]+2 of 2 pins present/);
    expect(shown).toMatch(/Saved in all requests so far: \d+ tokens; no model was called\./);
    expect(shown).toContain('p2 Plan\n');
    expect(shown).toContain('p1 is no longer pinned.');
    expect(shown).toContain('There is no pin "p1": /pin lists all pins.');
    expect(shown).toContain('There is no pin "": /pin lists all pins.');
    expect(shown).toContain('Mode: default');
    expect(shown).toMatch(/is the twelfth\): \.x\//);
    expect(shown).toMatch(
      /The compaction was undone\. \/compact compacts again\.\n- You asked for it: .* tokens · .* \(undone\)\n/,
    );
    expect(shown).toContain('There is nothing to undo.');
    expect(shown).toContain('Messages: 8.');
    expect(shown).toMatch(
      /Tokens in the window:\n {2}Conversation +[\d.]+k? +\d+ %\n[\s\S]* {2}All +[\d.]+k? /,
    );
    expect(shown).toContain('There is no plan.');
  });

  it('compacts up to a message, or to the call of a result, and only what is not compacted yet', async () => {
    const { model, shown } = await converse(
      [
        { text: 'Long. '.repeat(500) },
        { toolCalls: [{ name: 'todo_write', input: { todos: [{ content: 'Look', status: 'pending' }] } }] },
        { text: 'Noted.' },
        { text: 'Done.' },
      ],
      // r1 and r2 are the first turn, r4 is the call, and r5 is its result.
      ['Tell me', 'Plan', '/compact from r5', '/compact from r3', '/context 9', 'Go on'],
    );
    expect(shown).toContain('Compacted: ');
    expect(shown).toContain('Everything before r3 is already compacted.');
    expect(shown).toContain('> The session has 3 requests: there is no request 9.\n');
    expect(model.requests.at(-1)?.messages.flatMap(toolUsesOf)).toHaveLength(1);
  });

  it('finds messages by their numbers after the log was lost', async () => {
    const store = new InMemorySession();
    const first = await converse(
      [{ text: 'Long. '.repeat(500) }, { text: 'Noted.' }],
      ['Tell me', 'Plan', '/compact'],
      undefined,
      's-1',
      store,
    );
    expect(first.shown).toContain('Compacted: ');
    rmSync(join(directory, '.x'), { recursive: true });
    const lines = ['Pay in cents', '/pin r5'];
    const { shown } = await converse([{ text: 'Done.' }], lines, undefined, 's-1', store);
    expect(shown).toContain('Pinned; /unpin p1 removes the pin: Pay in cents');
  });

  it.each(['From r3', 'from 3', 'from #3', 'from r3, keep names'])(
    'understands /compact %s',
    async (argument) => {
      const { shown } = await converse(
        [{ text: 'Long. '.repeat(500) }, { text: 'Noted. '.repeat(50) }, { text: 'Done.' }],
        ['Tell me', 'Plan', 'Go on', `/compact ${argument}`],
      );
      expect(shown).toContain('1 of 6 messages are gone or shortened');
    },
  );

  it.each([
    'r3',
    '3',
    'up to r3',
    'until 3',
    'after message 3',
    'from r3-r5',
    'from r3 to r5',
    'from 3 messages ago',
    'from messages 3-5',
    'from',
  ])('does not take /compact %s for instructions', async (argument) => {
    const { shown } = await converse(
      [{ text: 'Long. '.repeat(500) }, { text: 'Done.' }],
      ['Tell me', 'Go on', `/compact ${argument}`, '/context'],
    );
    expect(shown).toContain('Not compacted. `/compact from r12, keep the prices` keeps message 12');
    expect(shown).toContain('Messages: 4.');
  });

  it('goes on after a failed call, and knows its commands', async () => {
    expect(completionsOf('/hel')).toEqual(['/help ']);
    const { shown } = await converse([{ text: 'Late.' }], ['/resume', '/frobnicate', 'Now', '/exit']);
    expect(shown).toContain('does not exist');
    expect(shown).toContain('There is no command /frobnicate. /help lists all commands.');
    expect(shown).toContain('Late.');
    expect(shown).toContain('--session s-1');
  });

  it('switches plan mode and permissions, and refuses modes that there are not', async () => {
    const { shown } = await converse([], ['/plan on', '/permissions explore', '/permissions wild', '/tasks']);
    expect(shown).toContain('Plan mode is on');
    expect(shown).toContain('Mode: explore');
    expect(shown).toContain('There is no mode "wild"');
    expect(shown).toContain('The todo list is empty.');
  });

  it('says a path that begins with a slash, instead of taking it for a command', async () => {
    const { model } = await converse([{ text: 'A file.' }], ['/etc/hosts is what?']);
    expect(model.requests).toHaveLength(1);
  });

  it('promises no plan mode and no permissions to an agent that has none', async () => {
    const { shown, agent } = await converse([], ['/plan on', '/permissions explore'], []);
    expect(shown).toContain('This agent has no plan_mode');
    expect(shown).toContain('This agent has no permissions');
    expect(await agent.state(RuntimeContext.of({ sessionId: 's-1' }))).toBeUndefined();
  });

  it('says why a task of a subagent failed', async () => {
    const worker = {
      name: 'worker',
      description: 'Works',
      model: new ScriptedModel([{ error: new Error('The disk is full.') }]),
    };
    const { shown } = await converse(
      [
        { toolCalls: [{ name: 'agent_spawn', input: { agent: 'worker', task: 'Store it' } }] },
        { text: 'It failed.' },
      ],
      ['Go', '/tasks'],
      [subagents([worker])],
    );
    expect(shown).toMatch(/worker-\w+ failed: Store it\n {2}The disk is full\./);
  });
});
