import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { estimateCounter, type Model } from '@x/core';
import { ScriptedModel } from '@x/testkit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Backend } from '../../src/backend/backend.js';
import { createAgent, type DemoAgent } from '../../src/create-agent.js';
import { type Told, transcriptOf } from '../transcript.js';
import { info } from './info.js';

let data: string;
let demo: DemoAgent;
beforeEach(() => {
  data = mkdtempSync(join(tmpdir(), 'x-work-'));
});
afterEach(async () => {
  await demo.agent.close();
  rmSync(data, { recursive: true, force: true, maxRetries: 20 });
});

function open(model: Model): Backend {
  demo = createAgent({ model, embedded: false, background: null, data, repo: data });
  return new Backend({ demo, counter: estimateCounter, info });
}

async function once(backend: Backend, isSo: (transcript: Told) => boolean): Promise<Told> {
  for (;;) {
    const transcript = await transcriptOf(backend, 's-1');
    if (isSo(transcript)) return transcript;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe('plan mode', () => {
  it('is begun by the user, keeps the agent from writing, and shows the plan, also after a restart', async () => {
    const script = [
      { text: 'Hello.' },
      { toolCalls: [{ name: 'write_file', input: { path: 'REPORT.md', content: 'too early' } }] },
      { toolCalls: [{ name: 'plan_write', input: { content: '# First look' } }] },
      { text: 'Planned.' },
    ];
    const backend = open(new ScriptedModel(script, { contextWindow: 16_000 }));
    await backend.send('s-1', 'Hi');
    await once(backend, ({ modelCalls, call }) => modelCalls === 1 && call === undefined);
    await expect.poll(() => backend.setPlanMode('s-1', true).then(() => 'on')).toBe('on');
    await backend.send('s-1', 'Write the report');
    const told = await once(
      backend,
      ({ modelCalls, call, plan }) => modelCalls === 4 && !call && !!plan.text,
    );
    expect(told.plan).toMatchObject({ active: true, text: expect.stringContaining('# First look') });
    expect(existsSync(join(data, 'workspace/REPORT.md'))).toBe(false);
    await backend.close();
    await demo.agent.close();
    expect((await transcriptOf(open(new ScriptedModel([])), 's-1')).plan).toEqual(told.plan);
  });
});

describe('work that is given to subagents', () => {
  it('is listed with what came of it', async () => {
    const model: Model = {
      id: 'two-voices',
      contextWindow: 16_000,
      async generate({ messages, system = '' }) {
        const finished = { finishReason: 'stop', usage: { inputTokens: 1, outputTokens: 1 } } as const;
        if (system.includes('You explore a repository')) {
          return { content: [{ type: 'text', text: 'There are five stores.' }], ...finished };
        }
        if (messages.some(({ role }) => role === 'tool')) {
          return { content: [{ type: 'text', text: 'Five.' }], ...finished };
        }
        const input = { agent: 'explorer', task: 'Count the stores' };
        return {
          content: [{ type: 'tool_use', id: 'call-1', name: 'agent_spawn', input }],
          ...finished,
          finishReason: 'tool-calls',
        };
      },
    };
    const backend = open(model);
    await backend.send('s-1', 'How many stores?');
    const { tasks } = await once(backend, (told) => told.tasks[0]?.status === 'completed');
    expect(tasks).toMatchObject([
      { subagent: 'explorer', task: 'Count the stores', outcome: 'There are five stores.' },
    ]);
    await backend.close();
  });
});
