import { Agent, type Model, Runner, setTracingDisabled, tool, Usage } from '@openai/agents';
import * as z from 'zod';
import { ANSWER, type Conversation, QUESTION, TOOL } from './harness-conversation.js';

/** The agent of the OpenAI Agents SDK, without a session. */
export async function openAiAgents(conversation: Conversation): Promise<string> {
  setTracingDisabled(true);
  const model: Model = {
    async getResponse({ input }) {
      const call = conversation.next(Array.isArray(input) ? input : [input]);
      const usage = new Usage({ inputTokens: 1, outputTokens: 1, totalTokens: 2 });
      if (call === undefined) {
        const content = [{ type: 'output_text' as const, text: ANSWER }];
        return { usage, output: [{ type: 'message', role: 'assistant', status: 'completed', content }] };
      }
      return {
        usage,
        output: [
          {
            type: 'function_call',
            callId: call.id,
            name: TOOL.name,
            arguments: JSON.stringify({ at: call.at }),
            status: 'completed',
          },
        ],
      };
    },
    getStreamedResponse: () => {
      throw new Error('not used');
    },
  };
  const agent = new Agent({
    name: 'instant',
    model,
    tools: [
      tool({ ...TOOL, parameters: z.object({ at: z.number() }), execute: ({ at }) => conversation.look(at) }),
    ],
  });
  const runner = new Runner({ tracingDisabled: true });
  const { finalOutput } = await runner.run(agent, QUESTION, { maxTurns: conversation.steps + 2 });
  return finalOutput ?? '';
}
