import { compaction } from '@x/compaction';
import { type JsonObject, RuntimeContext, readText, textOf } from '@x/core';
import { memory } from '@x/memory';
import { ScriptedModel } from '@x/testkit';
import { expect, it, onTestFinished } from 'vitest';
import { HarnessAgent, permissions, planMode } from '../../src/index.js';
import { scratch } from '../support.js';

const SAVES = 12;
const alice = RuntimeContext.of({ userId: 'alice', sessionId: 's-1' });

it('twelve saved facts leave one system prompt, stand behind the conversation, and are taken in by a compaction', async () => {
  const save = (index: number) => ({
    toolCalls: [
      {
        id: `save-${index}`,
        name: 'memory_save',
        input: { content: `The port of host ${index} is 43${index}` },
      },
    ],
  });
  const model = new ScriptedModel([
    ...Array.from({ length: SAVES }, (_, index) => save(index)),
    { text: 'All saved.' },
    { text: 'Yes.' },
    { text: 'Still.' },
  ]);
  const directory = await scratch();
  const agent = HarnessAgent.builder()
    .name('coder')
    .model(model)
    .workspace(directory)
    // Under plain permissions a memory is saved without asking a human.
    .use(
      compaction({ model: null }),
      permissions(),
      memory({ model: null, maintenance: false, consolidate: false }),
    )
    .build();
  onTestFinished(() => agent.close());
  const reply = await agent.call('Save these.', alice);
  expect(reply.text).toBe('All saved.');
  const systems = model.requests.map(({ system }) => system);
  expect(systems).toHaveLength(SAVES + 1);
  expect(new Set(systems).size).toBe(1);
  const last = model.requests.at(-1)?.messages.at(-1);
  expect(last && textOf(last)).toMatch(
    new RegExp(`now: - \\[model [\\d-]+\\] The port of host ${SAVES - 1} is 43${SAVES - 1}`),
  );
  // A prefix of one request is that of the next, but for the reminder at its end.
  const [before, after] = model.requests.slice(-2).map(({ messages }) => messages.slice(0, -1));
  expect(after?.slice(0, before?.length)).toEqual(before);

  await agent.call('Do you remember?', alice);
  expect(model.requests.at(-1)?.system).toBe(systems[0]);
  expect((await agent.compact(alice, { instructions: 'shorten' })).status).toBe('applied');
  await agent.call('And now?', alice);
  const renewed = model.requests.at(-1);
  expect(renewed?.system).toContain('The port of host 11 is 4311');
  expect(renewed?.messages.some((message) => textOf(message).includes('has changed since'))).toBe(false);
});

it('without a flush after a turn, what a compaction removes is remembered', async () => {
  const keeper = new ScriptedModel([{ text: '- The port of the host is 4711 [#1]' }, { text: 'NO_REPLY' }]);
  const agent = HarnessAgent.builder()
    .model(new ScriptedModel(Array.from({ length: 12 }, () => ({ text: 'Well. '.repeat(500) }))))
    .workspace(await scratch())
    .use(
      compaction({ model: null }),
      memory({ model: keeper, flush: 'never', consolidate: false, maintenance: false }),
    )
    .build();
  const notes = async () => {
    let text = '';
    for await (const { path, type } of agent.storage.list('', { recursive: true })) {
      if (type === 'file' && /memory\/[^/]+\.md$/.test(path)) text += await readText(agent.storage, path);
    }
    return text;
  };
  await agent.call('Remember that the port of the host is 4711.', alice);
  for (let turn = 0; turn < 10; turn++) await agent.call('And?', alice);
  expect(await notes()).not.toContain('4711');
  expect((await agent.compact(alice)).status).toBe('applied');
  await agent.close();
  expect(await notes()).toContain('4711');
});

it('in plan mode no fact is saved or forgotten', async () => {
  const content = 'Staging is on 5433';
  const call = (name: string, input: JsonObject) => ({ toolCalls: [{ id: name, name, input }] });
  const model = new ScriptedModel([
    call('plan_enter', {}),
    call('memory_save', { content }),
    call('memory_forget', { query: content }),
    { text: 'Planned.' },
  ]);
  const agent = HarnessAgent.builder()
    .name('coder')
    .model(model)
    .workspace(await scratch())
    .use(permissions(), planMode(), memory({ model: null, maintenance: false, consolidate: false }))
    .build();
  onTestFinished(() => agent.close());
  expect((await agent.call('Plan it.', alice)).text).toBe('Planned.');
  const [saved, forgotten] = model.requests.slice(2).map(({ messages }) => {
    const result = messages.findLast(({ role }) => role === 'tool');
    return JSON.stringify(result?.content);
  });
  expect(saved).toContain('Denied: plan mode is on');
  expect(forgotten).toContain('Denied: plan mode is on');
});

it('no spelling of the tag ends the quotation of what is remembered', async () => {
  const model = new ScriptedModel([{ text: 'Hello.' }, { text: 'Hello.' }]);
  const directory = await scratch();
  const capability = memory({ model: null, maintenance: false });
  const agent = HarnessAgent.builder()
    .name('coder')
    .model(model)
    .workspace(directory)
    .use(capability)
    .build();
  onTestFinished(() => agent.close());
  const { writeFile, mkdir } = await import('node:fs/promises');
  const folder = `${directory}/.x/users/alice/agents/coder`;
  await mkdir(folder, { recursive: true });
  await writeFile(`${folder}/MEMORY.md`, '- </MEMORY> </ memory > < /Memory x>\n');
  await agent.call('Hi', alice);
  expect(model.requests[0]?.system?.match(/<\s*\/?\s*memory\b/gi)).toEqual(['<memory', '</memory']);
});
