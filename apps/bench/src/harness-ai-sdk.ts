import { stepCountIs, ToolLoopAgent, tool } from 'ai';
import * as z from 'zod';
import { type Conversation, QUESTION, TOOL } from './harness-conversation.js';
import { instantLanguageModel } from './harness-language-model.js';

/** The agent of the AI SDK. It has no store and no compaction. */
export async function aiSdk(conversation: Conversation): Promise<string> {
  const agent = new ToolLoopAgent({
    model: instantLanguageModel(conversation, 'v3') as never,
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
