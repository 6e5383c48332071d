import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compaction } from '@x/compaction';
import {
  type Capability,
  defineTool,
  InMemorySession,
  type Model,
  type ModelResponse,
  RuntimeContext,
  storageOf,
} from '@x/core';
import { LocalWorkspace, WorkspaceSession } from '@x/core/node';
import { HarnessAgent } from '@x/harness';
import * as z from 'zod';
import { median } from './statistics.js';

/** Messages that one step adds: a call and its result. */
const MESSAGES_PER_STEP = 2;
const EARLY = 50;
const LATE = 3_000;
/** Steps around each mark whose median counts. */
const SAMPLE = 40;
const RESULT = 'The quick brown fox jumps over the lazy dog. '.repeat(23);

export interface StepResult {
  readonly name: string;
  /** Milliseconds, median. */
  readonly early: number;
  readonly late: number;
  /** `late / early`: 1 is flat. */
  readonly growth: number;
}

/**
 * What one step of the loop costs at message 50 and at message 3 000, with a model that answers at once and a tool that
 * returns 1 000 characters. Nothing is compacted: the history grows, the cost of a step must not.
 */
export async function benchSteps(): Promise<readonly StepResult[]> {
  const never = () => compaction({ contextWindow: 100_000_000, model: null });
  const results = [
    await measure('loop', [], 'call'),
    await measure('loop + compaction check', [never()], 'call'),
    await measure('loop + compaction check, checkpoint in memory', [never()], 'step', 'memory'),
    await measure('loop + compaction check, checkpoint in files (fsync)', [never()], 'step', 'files'),
  ];
  console.table(
    results.map(({ name, early, late, growth }) => ({
      'one step': name,
      [`ms at message ${EARLY}`]: Number(early.toFixed(3)),
      [`ms at message ${LATE}`]: Number(late.toFixed(3)),
      growth: Number(growth.toFixed(2)),
    })),
  );
  return results;
}

/** The second of two runs: in the first the engine is still compiling, which would flatter the growth. */
async function measure(...run: Parameters<typeof measureOnce>): Promise<StepResult> {
  await measureOnce(...run);
  return measureOnce(...run);
}

async function measureOnce(
  name: string,
  capabilities: readonly Capability[],
  checkpoint: 'call' | 'step',
  store: 'memory' | 'files' = 'memory',
): Promise<StepResult> {
  const directory = mkdtempSync(join(tmpdir(), 'x-bench-'));
  try {
    const workspace = new LocalWorkspace(directory);
    const steps = (LATE + SAMPLE) / MESSAGES_PER_STEP;
    const { model, startedAt } = instantModel(steps);
    const agent = HarnessAgent.builder()
      .model(model)
      .workspace(workspace)
      .session(store === 'memory' ? new InMemorySession() : new WorkspaceSession(storageOf(workspace)))
      .tools(
        defineTool({
          name: 'look',
          description: 'Looks',
          readOnly: true,
          input: z.object({ at: z.number() }),
          execute: ({ at }) => `${at} ${RESULT}`,
        }),
      )
      .use(...capabilities)
      .checkpoint(checkpoint)
      .maxIterations(steps + 1)
      .build();
    await agent.call('go', RuntimeContext.of({ sessionId: 's' }));
    const around = (message: number) => {
      const step = message / MESSAGES_PER_STEP;
      const times = startedAt.slice(step - SAMPLE / 2, step + SAMPLE / 2);
      return median(times.slice(1).map((time, index) => time - (times[index] ?? time)));
    };
    const [early, late] = [around(EARLY), around(LATE)];
    return { name, early, late, growth: late / early };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** A model that asks for a tool `steps` times and notes when it was asked. */
function instantModel(steps: number): { readonly model: Model; readonly startedAt: number[] } {
  const startedAt: number[] = [];
  const model: Model = {
    id: 'instant',
    async generate(): Promise<ModelResponse> {
      startedAt.push(performance.now());
      const at = startedAt.length;
      if (at > steps) return { content: [{ type: 'text', text: 'done' }], finishReason: 'stop' };
      return {
        content: [{ type: 'tool_use', id: `call-${at}`, name: 'look', input: { at } }],
        finishReason: 'tool-calls',
      };
    },
  };
  return { model, startedAt };
}
