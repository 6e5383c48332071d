import type * as AiSdk from 'ai';
import * as z from 'zod';
import { ANSWER, type Conversation, QUESTION, TOOL } from './harness-conversation.js';
import { importInstalled } from './node22.js';

const USAGE = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
} as const;

/** The agents of the AI SDK's lines 6, and 7, which needs Node 22. They have no store and no compaction. */
export const aiSdk = {
  'AI SDK 6 ToolLoopAgent': async (conversation: Conversation) => {
    const sdk = await import('ai');
    return run(sdk, sdk.stepCountIs, conversation, 'v3');
  },
  'AI SDK 7 ToolLoopAgent': async (conversation: Conversation, folder: string) => {
    // What is used of it is as in line 6, but for a name.
    const sdk = await importInstalled<typeof AiSdk & { readonly isStepCount: typeof AiSdk.stepCountIs }>(
      folder,
      'ai-sdk-7',
    );
    return run(sdk, sdk.isStepCount, conversation, 'v4');
  },
} as const;

async function run(
  { ToolLoopAgent, tool }: Pick<typeof AiSdk, 'ToolLoopAgent' | 'tool'>,
  stepCountIs: typeof AiSdk.stepCountIs,
  conversation: Conversation,
  version: 'v3' | 'v4',
): Promise<string> {
  const agent = new ToolLoopAgent({
    model: instantLanguageModel(conversation, version) as never,
    tools: {
      [TOOL.name]: tool({
        description: TOOL.description,
        inputSchema: z.object({ at: z.number() }),
        execute: async ({ at }) => conversation.look(at),
      }),
    },
    stopWhen: stepCountIs(conversation.steps + 1),
  });
  const { text } = await agent.generate({ prompt: QUESTION });
  return text;
}

/** A model as the AI SDK's providers are, of its line 6 (`v3`) or 7 (`v4`), which are the same here. */
export function instantLanguageModel(conversation: Conversation, specificationVersion: 'v3' | 'v4') {
  return {
    specificationVersion,
    provider: 'instant',
    modelId: 'instant',
    supportedUrls: {},
    async doGenerate({ prompt }: { readonly prompt: readonly unknown[] }) {
      const call = conversation.next(prompt);
      const content =
        call === undefined
          ? [{ type: 'text', text: ANSWER }]
          : [
              {
                type: 'tool-call',
                toolCallId: call.id,
                toolName: TOOL.name,
                input: JSON.stringify({ at: call.at }),
              },
            ];
      const unified = call === undefined ? 'stop' : 'tool-calls';
      return { content, finishReason: { unified, raw: unified }, usage: USAGE, warnings: [] };
    },
    doStream: () => Promise.reject(new Error('not used')),
  };
}
