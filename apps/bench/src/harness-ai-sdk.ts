import { stepCountIs, ToolLoopAgent, tool } from 'ai';
import * as z from 'zod';
import { ANSWER, type Conversation, QUESTION, TOOL } from './harness-conversation.js';

const USAGE = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
} as const;

/** The AI SDK's agent. It has no store and no compaction. */
export const aiSdk = {
  'AI SDK ToolLoopAgent': async (conversation: Conversation) => {
    const agent = new ToolLoopAgent({
      model: instantLanguageModel(conversation) as never,
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
  },
} as const;

function instantLanguageModel(conversation: Conversation) {
  return {
    specificationVersion: 'v3',
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
