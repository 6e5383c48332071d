import { compaction } from '@x/compaction';
import { ContextOverflowError, defineTool, type FileBlock, ModelError, RuntimeContext } from '@x/core';
import { ScriptedModel } from '@x/testkit';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { HarnessAgent } from '../../src/index.js';
import { scratch } from '../support.js';

const context = RuntimeContext.of({ sessionId: 's' });
const shot: FileBlock = {
  type: 'file',
  mediaType: 'image/png',
  source: { type: 'base64', data: 'A'.repeat(600_000) },
};
const screenshot = defineTool({
  name: 'screenshot',
  description: 'Takes one',
  readOnly: true,
  input: z.object({ slide: z.number() }),
  execute: ({ slide }) => [{ type: 'text' as const, text: `slide ${slide}` }, shot],
});

function agentWith(count: number, end: object, reduces = false) {
  const calls = Array.from({ length: count }, (_, slide) => ({
    toolCalls: [{ name: 'screenshot', input: { slide } }],
  }));
  const model = new ScriptedModel([...calls, end, end, end], { contextWindow: 1_000_000 });
  const builder = HarnessAgent.builder()
    .model(model)
    .workspace(scratch())
    .settings({ maxRetries: 0 })
    .maxIterations(100)
    .tools(screenshot);
  if (reduces) builder.use(compaction({ model: null }));
  return { agent: builder.build(), model };
}

describe('a request with many files', () => {
  it('never weighs much more than trigger.bytes, and keeps the newest files', async () => {
    const { agent, model } = agentWith(53, { text: 'done' }, true);
    expect((await agent.call('Check each slide', context)).text).toBe('done');
    const sizes = model.requests.map(({ messages }) => JSON.stringify(messages).length);
    expect(Math.max(...sizes)).toBeLessThan(21_500_000);
    expect(Math.max(...sizes)).toBeGreaterThan(15_000_000);
    const last = JSON.stringify(model.requests.at(-1)?.messages.at(-1));
    expect(last).toContain(shot.source.type === 'base64' ? shot.source.data.slice(0, 1_000) : '');
  });

  it.each([
    ['a connection that breaks', new TypeError('fetch failed'), ModelError],
    ['an overflow', new ContextOverflowError('Too large.'), ContextOverflowError],
  ])('says what it weighs when it fails: %s', async (_, error, kind) => {
    const { agent } = agentWith(10, { error });
    const failure = await agent.call('Check each slide', context).catch((thrown: unknown) => thrown);
    expect(failure).toBeInstanceOf(kind);
    expect((failure as Error).message).toContain(error.message);
    expect((failure as Error).message).toContain('size of the request is 6.0 MB, 6.0 MB of it in 10 files');
  });

  it('passes other failures on, and those of light requests', async () => {
    for (const [count, error] of [
      [10, new ModelError('Slow down.', { status: 429 })],
      [1, new TypeError('fetch failed')],
    ] as const) {
      const { agent } = agentWith(count, { error });
      await expect(agent.call('Check each slide', context)).rejects.toBe(error);
    }
  });
});
