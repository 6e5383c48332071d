import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type AgentEvent, RuntimeContext } from '@x/core';
import { describe, expect, it, vi } from 'vitest';
import { openAgent } from '../../src/agent/open-agent.js';
import { runCommand } from '../support/run-command.js';
import { directory, environment, server, setEnvironment, withProvider } from './of-test.js';

withProvider();

/** Files of a directory, and `turns` turns of the agent in the first of them. */
async function answer(files: Readonly<Record<string, string>>, turns: number) {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(directory, name, '..'), { recursive: true });
    writeFileSync(join(directory, name), text);
  }
  // The SDK's packages read the address of the server from the environment.
  setEnvironment();
  const { agent, close } = await openAgent(join(directory, Object.keys(files)[0] ?? ''), {
    trust: true,
    environment: environment(),
  });
  const events: AgentEvent[] = [];
  const context = RuntimeContext.of({ sessionId: 's' });
  for (let turn = 0; turn < turns; turn++) {
    for await (const event of agent.stream(`Look at part ${turn}.`, context)) events.push(event);
  }
  await close();
  return { events, told: events.flatMap((event) => (event.type === 'warning' ? event.message : [])) };
}
const NATIVE = 'features: { compaction: { trigger: { tokens: 3000 }, stages: [native, summarize] } }';

describe('an agent file', () => {
  it.each(['openai:gpt-5', 'anthropic:claude-opus-4-6'])(
    'reaches the compaction of %s’s provider',
    async (id) => {
      const model = `model: { id: ${id}, context_window: 20000, native_compaction: auto }`;
      const { events, told } = await answer({ 'agent.yaml': `${model}\n${NATIVE}` }, 8);
      expect(server.compactions).toBeGreaterThan(0);
      expect(server.refused).toEqual([]);
      const used = events.flatMap((event) => (event.type === 'context.compacted' ? event.stagesUsed : []));
      expect(used).toContain('native');
      expect(told).toEqual([]);
    },
  );

  it('asks an endpoint that is down once, with its retries, and goes on with the record', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    server.faults.compaction = 503;
    const model = 'model: { id: openai:gpt-5, context_window: 20000, native_compaction: auto }';
    const stages = 'features: { compaction: { trigger: { tokens: 3000 }, stages: [native, drop_oldest] } }';
    const { events } = await answer({ 'agent.yaml': `${model}\n${stages}` }, 12);
    vi.useRealTimers();
    const applied = events.filter((event) => event.type === 'context.compacted');
    expect(applied.length).toBeGreaterThan(1);
    expect(applied.map(({ message: detail }) => detail)).toEqual(
      applied.map(() => expect.stringMatching(/^reduced by summarize; native: /)),
    );
    expect(server.asked).toBe(4);
  });

  it.each([
    [
      'openai:gpt-5',
      /^compaction: The stage native does nothing: .*gpt-5.*native_compaction: auto.*These stages still run: summarize/,
    ],
    [
      '{ id: compatible:llama, native_compaction: auto }',
      /^compatible:llama has native_compaction: auto, .* use openai or anthropic\./,
    ],
  ])('that asks for it where there is none is told so when it is opened: %s', async (model, words) => {
    const emitWarning = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
    await answer({ 'agent.yaml': `model: ${model}\n${NATIVE}` }, 0);
    const told = emitWarning.mock.calls.map(([message]) => String(message));
    emitWarning.mockRestore();
    expect(told.filter((message) => words.test(message))).toHaveLength(1);
  });

  it('that asks for it where the model has none goes on without, and is not told again', async () => {
    const { told } = await answer({ 'agent.yaml': `model: openai:gpt-5\n${NATIVE}` }, 8);
    expect(server.compactions).toBe(0);
    expect(told.filter((message) => message.includes('native_compaction: auto'))).toEqual([]);
  });

  const own = 'model: { id: openai:gpt-5, context_window: 20000 }\nfeatures: { compaction: ';
  it.each([
    [
      'a model',
      { 'agent.yaml': `${own}{ trigger: { tokens: 3000 }, model: anthropic:claude-haiku-4-5 } }` },
      '',
    ],
    [
      'a dedicated summarizer',
      {
        'agent.yaml': `${own}{ preset: aura, max_tokens: 3000, keep_last_messages: 2, agent: Compaction } }`,
        'prompts/Compaction.md': '---\nmodel: anthropic:claude-haiku-4-5\n---\nWrite down every price.',
      },
      'every price',
    ],
    [
      'a prompt',
      {
        'agent.yaml': `${own}{ preset: aura, max_tokens: 3000, keep_last_messages: 2, prompt: brief } }`,
        'prompts/brief.md': 'Write down every price.',
      },
      'every price',
    ],
  ])('names %s for summaries', async (what, files, words) => {
    await answer(files as Readonly<Record<string, string>>, 8);
    const asked = server.taken.filter(({ body, readable }) =>
      what === 'a prompt' ? readable.includes(words) : body.model === 'claude-haiku-4-5',
    );
    expect(asked.length).toBeGreaterThan(0);
    expect(JSON.stringify(asked[0]?.body)).toContain(words);
  });

  it('may be Markdown: keys above, the system prompt below', async () => {
    await answer({ 'agent.md': '---\nmodel: openai:gpt-5\n---\nYou answer in rhymes.\n' }, 1);
    expect(server.taken[0]?.readable).toContain('You answer in rhymes.');
  });

  it.each([
    ['agent.yaml', 'model: a:b\n---\nbody', 'multiple documents'],
    [
      'agent.yaml',
      'model: openai:gpt-5\nfeatures: { compaction: { keep: { message: 5 } } }',
      'did you mean messages?',
    ],
    ['agent.yaml', 'model: openai:gpt-5\nsystem_promt: Hi', 'did you mean system_prompt?'],
    ['agent.md', '---\nmodel: openai:gpt-5\nsystem_prompt: Hi\n---\nHi', 'two system prompts'],
  ])('%s is refused: %j', async (name, text, message) => {
    await expect(answer({ [name]: text }, 0)).rejects.toThrow(message);
  });

  it.each(['compaction.yaml', 'compaction.yml'])('is told of a mistake in the %s beside it', async (name) => {
    const files = { 'agent.yaml': 'model: openai:gpt-5\ncapabilities: [compaction]', [name]: 'keep_all: 1' };
    await expect(answer(files, 0)).rejects.toThrow(
      new RegExp(`Invalid ${name}:? .*keep_all: unknown key`, 's'),
    );
  });

  it('is refused beside two files of one meaning', async () => {
    const both = { 'compaction.yaml': 'model: null', 'compaction.yml': 'model: null' };
    const files = { 'agent.yaml': 'model: openai:gpt-5', ...both };
    await expect(answer(files, 0)).rejects.toThrow('compaction.yaml and compaction.yml');
  });
});

it('x run of Markdown sends its text as the system prompt', async () => {
  const file = join(directory, 'helper.md');
  writeFileSync(file, '---\nmodel: openai:gpt-5\n---\nYou answer in rhymes.\n');
  const { status } = await runCommand(['run', file, '--prompt', 'Hello'], {
    env: { ...process.env, ...environment() },
  });
  expect(status).toBe(0);
  expect(server.taken[0]?.readable).toContain('You answer in rhymes.');
});

it('x run --prompt begins nothing that only a later answer could use', async () => {
  const compacts = 'features: { compaction: { trigger: { tokens: 3000 }, stages: [native, summarize] } }';
  const text = `model: { id: openai:gpt-5, context_window: 20000, native_compaction: auto }\n${compacts}`;
  const file = join(directory, 'agent.yaml');
  writeFileSync(file, text);
  const said = (turn: number) => `Look at part ${turn}. ${'word '.repeat(420)}`;
  const env = { ...process.env, ...environment(), HOME: directory };
  for (let turn = 0; turn < 3; turn++) {
    const args = ['run', file, '--session', 's', '--prompt', said(turn)];
    expect((await runCommand(args, { env, cwd: directory })).status).toBe(0);
  }
  expect([server.taken.length, server.compactions]).toEqual([3, 0]);
  // The same conversation in a process that continues has one ready before it is due.
  setEnvironment();
  const { agent, close } = await openAgent(file, {
    trust: true,
    environment: environment(),
    project: directory,
  });
  const context = RuntimeContext.of({ sessionId: 'other' });
  for (let turn = 0; turn < 4; turn++) await agent.call(said(turn), context);
  await close();
  expect(server.compactions).toBeGreaterThan(0);
});
