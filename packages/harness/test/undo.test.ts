import { compaction } from '@x/compaction';
import { CapabilityError, defineTool, estimateCounter, RuntimeContext } from '@x/core';
import { countRequest } from '@x/core/messages';
import { ScriptedModel } from '@x/testkit';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { HarnessAgent } from '../src/index.js';
import { scratch } from './support.js';

const context = RuntimeContext.of({ sessionId: 's' });

describe('undo', () => {
  it('begins no session, and neither does compact', async () => {
    const agent = HarnessAgent.builder()
      .model(new ScriptedModel([]))
      .workspace(scratch())
      .use(compaction({ model: null }))
      .build();
    expect(await agent.undo(context)).toBe(false);
    expect((await agent.compact(context)).status).not.toBe('applied');
    expect(await agent.state(context)).toBeUndefined();
  });

  it('restores the list from before the last compaction in another instance, what was said since behind it', async () => {
    const workspace = scratch();
    const look = defineTool({
      name: 'look',
      description: 'Looks',
      readOnly: true,
      input: z.object({ at: z.number() }),
      execute: ({ at }) => `${at}: ${'word '.repeat(300)}`,
    });
    const build = (model: ScriptedModel) =>
      HarnessAgent.builder()
        .model(model)
        .workspace(workspace)
        .tools(look)
        .use(compaction({ model: null, keep: { messages: 4 } }))
        .build();
    const steps = Array.from({ length: 12 }, (_, at) => ({ toolCalls: [{ name: 'look', input: { at } }] }));
    const first = build(new ScriptedModel([...steps, { text: 'done' }, { text: 'welcome' }]));
    await first.call('Look at it', context);
    const before = (await first.state(context))?.context ?? [];
    expect((await first.compact(context)).status).toBe('applied');
    await first.call('Thanks', context);
    const after = (await first.state(context))?.context ?? [];
    expect(after.length).toBeLessThan(before.length);

    const second = build(new ScriptedModel([]));
    const following = second.follow(context, { live: true });
    expect(await second.undo(context)).toBe(true);
    const { value } = await following.next();
    expect(value).toMatchObject({ type: 'context.restored', context: { total: expect.any(Number) } });
    expect((await second.state(context))?.context).toEqual([...before, ...after.slice(-2)]);
    expect(await second.undo(context)).toBe(false);
  });

  it('is not held to what would not fit the window', async () => {
    const window = 8_000;
    const model = new ScriptedModel(
      [
        ...[0, 1, 2, 3].map((at) => ({ toolCalls: [{ name: 'look', input: { at } }] })),
        { text: 'so '.repeat(1_950) },
        { text: 'indeed' },
      ],
      { contextWindow: window },
    );
    const look = defineTool({
      name: 'look',
      description: 'Looks',
      readOnly: true,
      input: z.object({ at: z.number() }),
      execute: ({ at }) => `src/part-${at}.ts is fine. `.repeat(170),
    });
    const agent = HarnessAgent.builder()
      .model(model)
      .workspace(scratch())
      .tools(look)
      .use(compaction({ model: null }))
      .build();
    await agent.call('Look at it', context);
    expect((await agent.compact(context)).status).toBe('applied');
    expect(await agent.undo(context)).toBe(true);
    const { context: messages = [] } = (await agent.state(context)) ?? {};
    const size = countRequest(estimateCounter, { messages, tools: [look.definition] });
    // Within the twentieth by which it may grow, and yet more than the window.
    expect(size).toBeGreaterThan(window * 0.96);
    expect(size).toBeLessThan(window);
    await agent.call('so '.repeat(window - size + 20), context);
    const last = model.requests.at(-1);
    expect(last && countRequest(estimateCounter, last)).toBeLessThanOrEqual(window);
  });

  it('needs a capability that can', async () => {
    const agent = HarnessAgent.builder().model(new ScriptedModel([])).workspace(scratch()).build();
    await expect(agent.undo(context)).rejects.toThrow(CapabilityError);
  });
});
