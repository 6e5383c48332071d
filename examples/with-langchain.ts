// In LangChain: swap the import of summarizationMiddleware, keep the options. The models are LangChain's own fakes.
import { compactionMiddleware } from '@x/langchain';
import { AIMessage, createAgent, fakeModel, HumanMessage, tool } from 'langchain';
import { z } from 'zod';

const FILES = 20;
const model = fakeModel();
for (let part = 0; part < FILES; part++) {
  model.respondWithTools([{ name: 'read_file', args: { path: `src/part-${part}.ts` }, id: `call-${part}` }]);
}
model.respond(new AIMessage('All parts are read.'));

const readFile = tool(async ({ path }) => `// ${path}\n${'export const value = 1;\n'.repeat(90)}`, {
  name: 'read_file',
  description: 'Reads a file',
  schema: z.object({ path: z.string() }),
});

const agent = createAgent({
  model,
  tools: [readFile],
  middleware: [
    compactionMiddleware({
      trigger: [{ tokens: 6_000 }, { messages: 100 }],
      keep: { messages: 6 },
      onCompaction: ({ status, messagesBefore, messagesAfter }) =>
        console.log(`${status}: ${messagesBefore} → ${messagesAfter} messages`),
    }),
  ],
});

const { messages } = await agent.invoke(
  { messages: [new HumanMessage('Read all parts')] },
  { recursionLimit: 200 },
);
const summary = messages.find(({ additional_kwargs }) => additional_kwargs.lc_source === 'summarization');
console.log(summary?.text);

if (messages.at(-1)?.text !== 'All parts are read.' || summary === undefined)
  throw new Error('Nothing was reduced.');
