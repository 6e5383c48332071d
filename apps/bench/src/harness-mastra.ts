import * as z from 'zod';
import { instantLanguageModel } from './harness-ai-sdk.js';
import { type Conversation, QUESTION, TOOL } from './harness-conversation.js';
import { importInstalled } from './node22.js';

/** What is used of `@mastra/core`, which is not installed here. */
interface Mastra {
  readonly Agent: new (settings: {
    readonly id: string;
    readonly name: string;
    readonly instructions: string;
    readonly model: object;
    readonly tools: Readonly<Record<string, unknown>>;
  }) => {
    generate(prompt: string, options: { readonly maxSteps: number }): Promise<{ readonly text: string }>;
  };
  createTool(definition: {
    readonly id: string;
    readonly description: string;
    readonly inputSchema: z.ZodType;
    readonly execute: (input: { readonly at: number }) => Promise<string>;
  }): unknown;
}

/** The agent of Mastra, which needs Node 22, without its memory. */
export async function mastra(conversation: Conversation, folder: string): Promise<string> {
  const { Agent, createTool } = await importInstalled<Mastra>(folder, 'mastra');
  const agent = new Agent({
    id: 'instant',
    name: 'instant',
    instructions: '',
    model: instantLanguageModel(conversation, 'v4'),
    tools: {
      [TOOL.name]: createTool({
        id: TOOL.name,
        description: TOOL.description,
        inputSchema: z.object({ at: z.number() }),
        execute: async ({ at }) => conversation.look(at),
      }),
    },
  });
  const { text } = await agent.generate(QUESTION, { maxSteps: conversation.steps + 1 });
  return text;
}
