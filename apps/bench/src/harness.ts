import { join } from 'node:path';
import { compaction } from '@x/compaction';
import { type Capability, defineTool, InMemorySession, type Model, storageOf, textOf } from '@x/core';
import { LocalWorkspace, WorkspaceSession } from '@x/core/node';
import { HarnessAgent } from '@x/harness';
import { telemetry } from '@x/harness/telemetry';
import * as z from 'zod';
import { withTemporaryFolder } from '../../../tooling/temporary-folder.js';
import { median } from './statistics.js';

const MARKS = [50, 1_000, 3_000];
/** Number of steps around each mark over which the median is taken. */
const SAMPLE = 40;
const RESULT = 'The quick brown fox jumps over the lazy dog. '.repeat(23);

interface Variant {
  readonly capabilities?: () => readonly Capability[];
  /** Default: every step. */
  readonly checkpoint?: 'call';
  /** Default: in memory. */
  readonly isInFiles?: boolean;
}

/** Returns a compaction that is checked before every step and never triggers. */
const armed = () => compaction({ contextWindow: 100_000_000, model: null });

/** The agent in its simplest form, and with the features that a long run needs. */
export const VARIANTS: Readonly<Record<string, Variant>> = {
  plain: { checkpoint: 'call' },
  'compaction armed, checkpoint every step': { capabilities: () => [armed()] },
  'compaction at 128k, checkpoint every step': {
    capabilities: () => [compaction({ contextWindow: 128_000, model: null })],
  },
  'armed, with telemetry and no SDK': { capabilities: () => [telemetry(), armed()] },
  'armed, in files (fsync)': { capabilities: () => [armed()], isInFiles: true },
};

/** Measures the time per step of an agent: a tool call with a result of 1 000 characters, and a model that answers at once. */
export async function benchHarness(): Promise<void> {
  await withTemporaryFolder(async (folder) => {
    const rows: object[] = [];
    for (const [name, variant] of Object.entries(VARIANTS)) {
      // A warm-up run: while the engine is still compiling, slow first steps would hide the growth.
      await holdConversation(variant, join(folder, name, 'first'), 200);
      const askedAt = await holdConversation(variant, join(folder, name), 3_000 + SAMPLE / 2 + 1);
      const marks = MARKS.map((mark) => [`ms at ${mark}`, stepAround(askedAt, mark)]);
      rows.push({ 'one step': name, ...Object.fromEntries(marks) });
    }
    console.table(rows);
  });
}

/**
 * Runs a conversation of this many steps, and returns the times of the model calls in milliseconds.
 *
 * @throws {Error} if a request does not end with the result of the last call.
 */
export async function holdConversation(
  { capabilities = () => [], checkpoint, isInFiles = false }: Variant,
  folder: string,
  steps: number,
): Promise<readonly number[]> {
  const askedAt: number[] = [];
  const model: Model = {
    id: 'instant',
    async generate({ messages }) {
      askedAt.push(performance.now());
      const at = askedAt.length;
      const last = messages.findLast(({ role }) => role === 'tool');
      if (at > 1 && !(last && textOf(last).startsWith(`${at - 1} `)))
        throw new Error(`Request ${at} does not end with the result of call ${at - 1}.`);
      if (at > steps) return { content: [{ type: 'text', text: 'done' }], finishReason: 'stop' };
      const call = { type: 'tool_use', id: `call-${at}`, name: 'look', input: { at } } as const;
      return { content: [call], finishReason: 'tool-calls' };
    },
  };
  const workspace = new LocalWorkspace(folder);
  const look = defineTool({
    name: 'look',
    description: 'Looks at what is there',
    readOnly: true,
    input: z.object({ at: z.number() }),
    execute: ({ at }) => `${at} ${RESULT}`,
  });
  const agent = HarnessAgent.builder()
    .model(model)
    .workspace(workspace)
    .session(isInFiles ? new WorkspaceSession(storageOf(workspace)) : new InMemorySession())
    .tools(look)
    .use(...capabilities())
    .checkpoint(checkpoint ?? 'step')
    .maxIterations(steps + 1)
    .build();
  await agent.call('Look at everything, one after the other.');
  await agent.close();
  return askedAt;
}

function stepAround(askedAt: readonly number[], mark: number): number {
  const times = askedAt.slice(mark - SAMPLE / 2, mark + SAMPLE / 2);
  return Number(median(times.slice(1).map((time, index) => time - (times[index] ?? time))).toFixed(3));
}
