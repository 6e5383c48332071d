import { compaction, toolResultEviction } from '@x/compaction';
import { type Capability, defineTool, type JsonObject, RuntimeContext, textOf, toolResultsOf } from '@x/core';
import { ScriptedModel } from '@x/testkit';
import { describe, expect, it } from 'vitest';
import { HarnessAgent, workspaceTools } from '../src/index.js';
import { scratch } from './support.js';

const context = RuntimeContext.of({ sessionId: 's' });
const input = { type: 'object' } as JsonObject;

/** A model that makes `calls` calls at once, and makes them again until it has a result for each. */
function agentWith(capabilities: readonly Capability[], output: string, calls: number, name: string) {
  let ran = 0;
  const seen: string[][] = [];
  const model = new ScriptedModel(
    [
      {
        when: () => true,
        times: 20,
        reply: ({ messages }) => {
          const results = messages.flatMap(toolResultsOf).map((result) => textOf([result]));
          seen.push(results);
          if (results.length >= calls) return { text: 'done' };
          return { toolCalls: Array.from({ length: calls }, () => ({ name, input: {} })) };
        },
      },
    ],
    { contextWindow: 64_000 },
  );
  const tool = defineTool({
    name,
    description: 'Loads data',
    readOnly: true,
    input,
    execute: () => {
      ran++;
      return output;
    },
  });
  const agent = HarnessAgent.builder()
    .model(model)
    .workspace(scratch())
    .tools(tool)
    .maxIterations(15)
    .use(...capabilities)
    .build();
  return { agent, seen, ran: () => ran };
}

const rows = (count: number) =>
  `BEGIN ${Array.from({ length: count }, (_, row) => `row ${row}`).join('\n')} END`;

describe('a result of any size', () => {
  it.each([
    ['compaction alone', () => [compaction({ model: null })], 'load_data'],
    [
      'eviction too',
      () => [toolResultEviction(), compaction({ model: null }), workspaceTools()],
      'load_data',
    ],
    [
      'eviction behind compaction',
      () => [compaction({ model: null }), toolResultEviction(), workspaceTools()],
      'load_data',
    ],
    [
      'a tool of somebody else called read_file',
      () => [toolResultEviction(), compaction({ model: null })],
      'read_file',
    ],
  ])('reaches the model with its ends, and the tool runs once: %s', async (_, capabilities, name) => {
    const { agent, seen, ran } = agentWith(capabilities(), rows(200_000), 1, name);
    const reply = await agent.call('Load it', context);
    expect(reply).toMatchObject({ stopReason: 'completed', text: 'done' });
    expect(ran()).toBe(1);
    const [result] = seen.at(-1) ?? [];
    expect(result).toContain('BEGIN row 0');
    expect(result?.endsWith('END')).toBe(true);
    expect(result).toMatch(/do not fit the context window|was written to/);
    await agent.close();
  });

  it.each([
    ['with eviction', () => [compaction({ model: null }), toolResultEviction(), workspaceTools()]],
    ['without', () => [compaction({ model: null })]],
  ])('arrives beside eleven others %s, whole where all fit', async (_, capabilities) => {
    for (const [count, whole] of [
      [800, true],
      [2_000, false],
    ] as const) {
      const { agent, seen, ran } = agentWith(capabilities(), rows(count), 12, 'load_data');
      expect((await agent.call('Load all', context)).stopReason).toBe('completed');
      expect(ran()).toBe(12);
      expect(seen.at(-1)).toHaveLength(12);
      for (const result of seen.at(-1) ?? []) {
        expect(result.startsWith('BEGIN')).toBe(true);
        expect(result.endsWith('END')).toBe(true);
        expect(result === rows(count)).toBe(whole);
      }
      await agent.close();
    }
  });
});

describe('the order of capabilities', () => {
  const build = (...capabilities: readonly Capability[]) =>
    HarnessAgent.builder()
      .model(new ScriptedModel([]))
      .workspace(scratch())
      .use(...capabilities)
      .build();

  it('is the one given, but for those that ask to stand elsewhere', async () => {
    const agent = build(
      { name: 'one', behind: ['three'] },
      compaction({ model: null }),
      { name: 'two' },
      toolResultEviction(),
      { name: 'three', before: ['nobody'] },
    );
    expect(agent.capabilities).toEqual(['two', 'tool_result_eviction', 'compaction', 'three', 'one']);
    await agent.close();
  });

  it('is refused where capabilities contradict each other', () => {
    const contradiction = () =>
      build({ name: 'one', before: ['two'] }, { name: 'two', before: ['one'] }, { name: 'free' });
    expect(contradiction).toThrow(/each of one, two must come before another/);
  });
});
