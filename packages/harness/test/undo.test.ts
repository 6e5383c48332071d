import { compaction } from '@x/compaction';
import { CapabilityError, defineTool, RuntimeContext } from '@x/core';
import { ScriptedModel } from '@x/testkit';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { HarnessAgent } from '../src/index.js';
import { scratch } from './support.js';

const context = RuntimeContext.of({ sessionId: 's' });

describe('undo', () => {
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
        .use(compaction({ model: null, keepMessages: 4 }))
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
    expect(await second.undo(context)).toBe(true);
    expect((await second.state(context))?.context).toEqual([...before, ...after.slice(-2)]);
    expect(await second.undo(context)).toBe(false);
  });

  it('needs a capability that can', async () => {
    const agent = HarnessAgent.builder().model(new ScriptedModel([])).workspace(scratch()).build();
    await expect(agent.undo(context)).rejects.toThrow(CapabilityError);
  });
});
