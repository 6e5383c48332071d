import { readText } from '@x/core';
import { generateText, stepCountIs } from 'ai';
import { MockLanguageModelV3 } from 'ai/test';
import { expect, it, onTestFinished } from 'vitest';
import { memoryTools } from '../../src/ai-sdk/index.js';
import { MemoryService, sessionHistory } from '../../src/index.js';
import { testWorkspace } from '../support/test-context.js';

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

/** A model that calls one tool, then answers. */
function calling(toolName: string, input: object) {
  return new MockLanguageModelV3({
    doGenerate: async ({ prompt }) =>
      prompt.at(-1)?.role === 'tool'
        ? {
            content: [{ type: 'text', text: 'done' }],
            finishReason: { unified: 'stop', raw: 'stop' },
            usage,
            warnings: [],
          }
        : {
            content: [{ type: 'tool-call', toolCallId: 'c', toolName, input: JSON.stringify(input) }],
            finishReason: { unified: 'tool-calls', raw: 'tool_calls' },
            usage,
            warnings: [],
          },
  });
}

async function setUp() {
  const workspace = await testWorkspace();
  const memory = new MemoryService({ workspace });
  onTestFinished(() => memory.close());
  const run = (userId: string, name: string, input: object) =>
    generateText({
      model: calling(name, input),
      prompt: 'go on',
      tools: memoryTools({ memory, scope: { userId }, tools: [...(sessionHistory().tools ?? [])] }),
      stopWhen: stepCountIs(3),
    });
  const outputOf = ({ steps }: Awaited<ReturnType<typeof run>>) => steps[0]?.toolResults[0]?.output;
  return { workspace, memory, run, outputOf };
}

it('lets an agent of the AI SDK save and find, each user their own', async () => {
  const { workspace, run, outputOf } = await setUp();
  const saved = await run('alice', 'memory_save', { content: 'Alice prefers PostgreSQL' });
  expect(outputOf(saved)).toMatch(/^Saved in MEMORY\.md and memory\//);
  expect(saved.text).toBe('done');
  expect(await readText(workspace, 'users/alice/MEMORY.md')).toContain('- Alice prefers PostgreSQL');
  expect(outputOf(await run('alice', 'memory_search', { query: 'postgresql' }))).toContain('MEMORY.md:3');
  expect(outputOf(await run('bob', 'memory_search', { query: 'postgresql' }))).toBe('Nothing found.');
  expect(outputOf(await run('bob', 'session_list', {}))).toContain('1 sessions.');
});

it('maintains the memory once something was saved', async () => {
  const { workspace, memory, run } = await setUp();
  await workspace.append('users/alice/memory/2026-01-01.md', '- Call me Ada\n');
  await run('alice', 'memory_save', { content: 'Likes tea' });
  await expect.poll(() => memory.read({ userId: 'alice' }), { timeout: 5_000 }).toContain('Call me Ada');
});

it('names a bad field to the model, and asks before it forgets', async () => {
  const { memory, run } = await setUp();
  const bad = await run('alice', 'memory_search', { query: 'x', limit: 900 });
  expect(JSON.stringify(bad.steps[0]?.content)).toContain('limit');
  await memory.save({ userId: 'alice' }, 'Alice prefers PostgreSQL');
  const asked = await run('alice', 'memory_forget', { query: 'postgresql' });
  expect(asked.content.map(({ type }) => type)).toContain('tool-approval-request');
  expect(await memory.read({ userId: 'alice' })).toContain('PostgreSQL');
});

it('refuses options that do not fit', () => {
  expect(() => memoryTools({ scope: {} })).toThrow('tools: must contain a tool if no memory is given');
  expect(() => memoryTools({ scope: {}, user: 'alice' } as never)).toThrow('user: unknown key');
});
