// The compactor and overflow recovery inside an agent of the AI SDK. The model is the SDK's own mock.
import { prepareStepWith, withOverflowRecovery } from '@x/ai-sdk';
import { createCompactor } from '@x/compaction';
import { APICallError, stepCountIs, ToolLoopAgent, tool } from 'ai';
import { MockLanguageModelV3 } from 'ai/test';
import { z } from 'zod';

const FILES = 20;
const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

/** A model that reads one file after the other, and whose window holds 40 000 characters. */
let next = 0;
const mock = new MockLanguageModelV3({
  doGenerate: async ({ prompt }) => {
    if (JSON.stringify(prompt).length > 40_000) {
      const message = 'prompt is too long: 12000 tokens > 10000 maximum';
      throw new APICallError({ message, statusCode: 400, url: '', requestBodyValues: {} });
    }
    const done = next === FILES;
    const call = {
      type: 'tool-call' as const,
      toolCallId: `call-${next}`,
      toolName: 'read_source',
      input: JSON.stringify({ path: `src/part-${next++}.ts` }),
    };
    return {
      content: [done ? { type: 'text' as const, text: 'All parts are read.' } : call],
      finishReason: { unified: done ? 'stop' : 'tool-calls', raw: undefined },
      usage,
      warnings: [],
    };
  },
});

const readSource = tool({
  description: 'Reads a source file',
  inputSchema: z.object({ path: z.string() }),
  execute: async ({ path }) => `// ${path}\n${'export const value = 1;\n'.repeat(90)}`,
});

const compactor = createCompactor({ contextWindow: 8_000, keep: { messages: 6 } });
const statuses: string[] = [];
const agent = new ToolLoopAgent({
  model: withOverflowRecovery(mock, compactor),
  tools: { read_source: readSource },
  stopWhen: stepCountIs(FILES + 1),
  prepareStep: prepareStepWith(compactor, { onCompaction: ({ status }) => void statuses.push(status) }),
});

const { text, steps } = await agent.generate({ prompt: 'Read all parts' });
const reductions = statuses.filter((status) => status === 'applied').length;
console.log(`${text} ${steps.length} steps, ${reductions} reductions`);

if (text !== 'All parts are read.' || reductions === 0) throw new Error('The agent did not finish.');
