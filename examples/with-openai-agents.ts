// A run of the OpenAI Agents SDK whose session lives in files, is compacted, and continues in another process.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent, type Model, run, setTracingDisabled, Usage } from '@openai/agents';
import { createCompactor } from '@x/compaction';
import { SessionKey } from '@x/core';
import { JsonSession } from '@x/core/node';
import { AgentsSession } from '@x/openai-agents';

setTracingDisabled(true);
const directory = mkdtempSync(join(tmpdir(), 'x-example-'));

/** As another process would open it: nothing but the directory is shared. */
const open = () =>
  new AgentsSession({
    store: new JsonSession({ directory }),
    key: SessionKey.of({ userId: 'alice', sessionId: 's-001' }),
    compactor: createCompactor({ trigger: { messages: 20 }, keep: { messages: 6 } }),
    onCompaction: ({ status, messagesBefore, messagesAfter }) => {
      if (status === 'applied') console.log(`Compacted ${messagesBefore} → ${messagesAfter} messages`);
    },
  });

/** In place of a provider. */
const model: Model = {
  getResponse: async ({ input }) => ({
    usage: new Usage(),
    output: [
      {
        type: 'message',
        role: 'assistant',
        status: 'completed',
        content: [
          {
            type: 'output_text',
            text: `I was sent ${input.length} items. ${'I keep it in mind. '.repeat(20)}`,
          },
        ],
      },
    ],
  }),
  getStreamedResponse: () => {
    throw new Error('This example does not stream.');
  },
};
const agent = new Agent({ name: 'Helper', instructions: 'Answer in one sentence.', model });

for (let turn = 0; turn < 15; turn++)
  await run(agent, `host-${turn}.example.com must listen on port ${8_000 + turn}`, { session: open() });
const { finalOutput } = await run(agent, 'Which ports are taken?', { session: open() });
const items = await open().getItems();
const summary = items.find((item) => JSON.stringify(item).includes('CONVERSATION_SUMMARY'));
console.log(finalOutput?.slice(0, 20), JSON.stringify(summary, null, 2));

rmSync(directory, { recursive: true });
if (!summary) throw new Error('Nothing was compacted.');
