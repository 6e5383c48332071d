import type * as z from 'zod';
import { type Conversation, QUESTION, TOOL } from './harness-conversation.js';
import { instantLanguageModel } from './harness-language-model.js';
import { importInstalled } from './node22.js';

/** What is used of `ai` 7, which is not installed here. */
interface AiSdk7 {
  readonly ToolLoopAgent: new (settings: {
    readonly model: object;
    readonly tools: Readonly<Record<string, unknown>>;
    readonly stopWhen: unknown;
  }) => { generate(call: { readonly prompt: string }): Promise<{ readonly text: string }> };
  readonly tool: (definition: {
    readonly description: string;
    readonly inputSchema: z.ZodType;
    readonly execute: (input: { readonly at: number }) => Promise<string>;
  }) => unknown;
  readonly isStepCount: (steps: number) => unknown;
  readonly z: typeof z;
}

/** The agent of the AI SDK's line 7, which needs Node 22. It has no store and no compaction. */
export async function aiSdk7(conversation: Conversation, folder: string): Promise<string> {
  const { ToolLoopAgent, tool, isStepCount, z } = await importInstalled<AiSdk7>(folder, 'ai-sdk-7');
  const agent = new ToolLoopAgent({
    model: instantLanguageModel(conversation, 'v4'),
    tools: {
      [TOOL.name]: tool({
        description: TOOL.description,
        inputSchema: z.object({ at: z.number() }),
        execute: async ({ at }) => conversation.look(at),
      }),
    },
    stopWhen: isStepCount(conversation.steps + 1),
  });
  const { text } = await agent.generate({ prompt: QUESTION });
  return text;
}
