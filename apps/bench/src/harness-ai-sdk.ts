import { stepCountIs, ToolLoopAgent, tool } from 'ai';
import { z } from 'zod';
import { ANSWER, type Conversation, QUESTION, TOOL } from './harness-conversation.js';

/** The agent of the AI SDK. It has no store and no compaction. */
export async function aiSdk(conversation: Conversation): Promise<void> {
  const usage = {
    inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 1, text: 1, reasoning: 0 },
  };
  const model = {
    specificationVersion: 'v3',
    provider: 'instant',
    modelId: 'instant',
    supportedUrls: {},
    async doGenerate() {
      const call = conversation.next();
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
      return { content, finishReason: { unified, raw: unified }, usage, warnings: [] };
    },
    doStream: () => Promise.reject(new Error('not used')),
  };
  const agent = new ToolLoopAgent({
    model: model as never,
    tools: {
      [TOOL.name]: tool({
        description: TOOL.description,
        inputSchema: z.object({ at: z.number() }),
        execute: async ({ at }) => conversation.look(at),
      }),
    },
    stopWhen: stepCountIs(conversation.steps + 1),
  });
  await agent.generate({ prompt: QUESTION });
}
