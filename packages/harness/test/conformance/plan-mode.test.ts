import { compaction, toolResultEviction } from '@x/compaction';
import {
  type AgentEvent,
  defineTool,
  RuntimeContext,
  readText,
  storageOf,
  textOf,
  toolUsesOf,
} from '@x/core';
import { LocalWorkspace } from '@x/core/node';
import { type ScriptEntry, ScriptedModel } from '@x/testkit';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { HarnessAgent, planMode, workspaceTools } from '../../src/index.js';
import { scratch } from '../support.js';

const context = RuntimeContext.of({ sessionId: 's' });
const call = (name: string, input: Record<string, string> = {}) => ({
  toolCalls: [{ id: name, name, input }],
});
const print = defineTool({
  name: 'print',
  description: 'Prints much',
  readOnly: true,
  input: z.object({}),
  execute: () => 'x'.repeat(100_000),
});

function build(script: readonly ScriptEntry[], { readable = true, directory = scratch() } = {}) {
  const warnings: AgentEvent[] = [];
  const model = new ScriptedModel(script, { contextWindow: 200_000 });
  const agent = HarnessAgent.builder()
    .model(model)
    .workspace(directory)
    .tools(print)
    .use(
      planMode({ approval: false }),
      toolResultEviction({ maxResultChars: 80_000 }),
      compaction({ model: null, trigger: { messages: 50 }, keep: { messages: 20 } }),
      ...(readable ? [workspaceTools()] : []),
    )
    .onEvent((event) => {
      if (event.type === 'warning') warnings.push(event);
    })
    .build();
  return { agent, model, warnings, directory };
}

it('the plan outlives compactions: where it is stands in the summary, and the model can read it there', async () => {
  const { agent, model, directory } = build([
    call('plan_enter'),
    call('plan_write', { content: 'First the roof, then the walls.' }),
    call('plan_exit'),
    ...Array.from({ length: 60 }, () => call('list_files')),
    ({ messages }) => {
      const path = /Plan: (\S+)/.exec(messages.map(textOf).join('\n'))?.[1] ?? 'none';
      return call('read_file', { path });
    },
    { text: 'the roof' },
  ]);
  expect((await agent.call('Build a house', context)).stopReason).toBe('max_iterations');
  await agent.resume(context);
  const last = model.requests.at(-1)?.messages ?? [];
  const calls = last.flatMap(toolUsesOf);
  expect(calls.some(({ name }) => name === 'plan_write')).toBe(false);
  expect(textOf(last.at(-1) ?? [])).toContain('First the roof, then the walls.');
  expect(await readText(storageOf(new LocalWorkspace(directory)), 'plans/agents/agent/s.md')).toContain(
    'First the roof',
  );
});

it('an agent that cannot read what is put into files is told of once, when it is', async () => {
  const script = [
    call('plan_enter'),
    call('plan_write', { content: 'one' }),
    call('print'),
    call('print'),
    { text: 'ok' },
  ];
  const blind = build(script, { readable: false });
  await blind.agent.call('go', context);
  expect(blind.warnings).toMatchObject([
    { source: 'tool_result_eviction', message: expect.stringContaining('workspaceTools()') },
  ]);
  const seeing = build(script);
  await seeing.agent.call('go', context);
  expect(seeing.warnings).toEqual([]);
});
