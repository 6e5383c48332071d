import { toolResultEviction } from '@x/compaction';
import { defineTool, RuntimeContext, textOf, toolResultsOf } from '@x/core';
import { ScriptedModel } from '@x/testkit';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { HarnessAgent, workspaceTools } from '../src/index.js';
import { scratch } from './support.js';

const context = RuntimeContext.of({ sessionId: 's' });
/** One line of a hundred thousand characters, no two parts of which are the same. */
const line = Array.from({ length: 20_000 }, (_, index) => String(index).padStart(5, '0')).join('');

/** What a model does that reads on and on: it asks for the next part, as the last answer tells it to. */
async function readAll(said: 'tool' | 'user'): Promise<{ text: string; longest: number }> {
  let text = '';
  let longest = 0;
  const model = new ScriptedModel([
    {
      when: () => true,
      times: 40,
      reply: ({ messages }) => {
        const answer = textOf(messages.at(-1) ?? []);
        longest = Math.max(longest, answer.length);
        const path = messages.map((message) => /written to (\S+):/.exec(textOf(message))?.[1]).find(Boolean);
        if (path === undefined) return { toolCalls: [{ name: 'dump', input: {} }] };
        if (answer.startsWith(`[${path}, lines`)) text += answer.slice(answer.indexOf('\n') + 1);
        const next = /go on with offset (\d+), charOffset (\d+)/.exec(answer);
        if (answer.startsWith(`[${path}, lines`) && !next) return { text: 'all read' };
        const input = next ? { path, offset: Number(next[1]), charOffset: Number(next[2]) } : { path };
        return { toolCalls: [{ name: 'read_file', input }] };
      },
    },
  ]);
  const dump = defineTool({
    name: 'dump',
    description: 'Says it all',
    input: z.object({}),
    execute: () => line,
  });
  const agent = HarnessAgent.builder()
    .model(model)
    .workspace(scratch())
    .tools(dump)
    .maxIterations(50)
    .use(toolResultEviction({ maxResultChars: 10_000, maxUserChars: 10_000 }), workspaceTools())
    .build();
  const reply = await agent.call(said === 'user' ? line : 'Dump it', context);
  expect(reply.text).toBe('all read');
  const state = await agent.state(context);
  for (const message of state?.context ?? []) {
    for (const result of toolResultsOf(message)) expect(textOf([result]).length).toBeLessThan(40_000);
  }
  return { text, longest };
}

describe('an evicted text', () => {
  it.each(['tool', 'user'] as const)('of a %s, a single long line, is read back in parts', async (said) => {
    const { text, longest } = await readAll(said);
    expect(text).toBe(line);
    expect(longest).toBeLessThan(40_000);
  });
});
