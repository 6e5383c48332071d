import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compaction } from '@x/compaction';
import { type Capability, defineTool, InMemorySession, type Model, RuntimeContext, storageOf } from '@x/core';
import { LocalWorkspace, WorkspaceSession } from '@x/core/node';
import { HarnessAgent } from '@x/harness';
import { telemetry } from '@x/harness/telemetry';
import * as z from 'zod';
import { ANSWER, type Conversation, QUESTION, TOOL } from './harness-conversation.js';

interface OurOptions {
  /** Default: none. */
  readonly capabilities?: () => readonly Capability[];
  /** Default: every step. */
  readonly checkpoint?: 'call' | 'step';
  /** Default: in memory. */
  readonly store?: 'memory' | 'files';
}

/** Checked before every step and never due: the history grows. */
const armed = () => compaction({ contextWindow: 100_000_000, model: null });
/** Due every few hundred steps, as in a window of 128 000 tokens. */
const firing = () => compaction({ contextWindow: 128_000, model: null });

/** This repository's agent, as plain as the others and with everything that a long run needs. */
export const ours = {
  '@x/harness': contender({ checkpoint: 'call' }),
  '@x/harness, compaction armed, checkpoint every step': contender({ capabilities: () => [armed()] }),
  '@x/harness, compaction at 128k, checkpoint every step': contender({ capabilities: () => [firing()] }),
  '@x/harness, the same with telemetry and no SDK': contender({
    capabilities: () => [telemetry(), armed()],
  }),
  '@x/harness, the same in files (fsync)': contender({ capabilities: () => [armed()], store: 'files' }),
} as const;

function contender({
  capabilities = () => [],
  checkpoint = 'step',
  store = 'memory',
}: OurOptions): (conversation: Conversation) => Promise<string> {
  return async (conversation) => {
    const directory = mkdtempSync(join(tmpdir(), 'x-bench-'));
    try {
      const workspace = new LocalWorkspace(directory);
      const agent = HarnessAgent.builder()
        .model(instantModel(conversation))
        .workspace(workspace)
        .session(store === 'memory' ? new InMemorySession() : new WorkspaceSession(storageOf(workspace)))
        .tools(
          defineTool({
            ...TOOL,
            readOnly: true,
            input: z.object({ at: z.number() }),
            execute: ({ at }) => conversation.look(at),
          }),
        )
        .use(...capabilities())
        .checkpoint(checkpoint)
        .maxIterations(conversation.steps + 1)
        .build();
      const { text } = await agent.call(QUESTION, RuntimeContext.of({ sessionId: 's' }));
      await agent.close();
      return text;
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  };
}

function instantModel(conversation: Conversation): Model {
  return {
    id: 'instant',
    async generate({ messages }) {
      const call = conversation.next(messages);
      if (call === undefined) return { content: [{ type: 'text', text: ANSWER }], finishReason: 'stop' };
      return {
        content: [{ type: 'tool_use', id: call.id, name: TOOL.name, input: { at: call.at } }],
        finishReason: 'tool-calls',
      };
    },
  };
}
