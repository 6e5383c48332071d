// Two subagents work while their parent continues talking. The end of each task is told the parent once, in the next view.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Model, RuntimeContext, textOf, toolUsesOf } from '@x/core';
import { HarnessAgent, subagents, workspaceTools } from '@x/harness';
import { ScriptedModel } from '@x/testkit';

// Any model will do for a subagent; this one counts the files that it is asked about.
const counter: Model = {
  id: 'counter',
  async generate({ messages }) {
    const last = messages.at(-1);
    if (last?.role === 'tool') {
      const files = textOf(last).split('\n').filter(Boolean).length;
      return { content: [{ type: 'text', text: `${files} entries.` }], finishReason: 'stop' };
    }
    const id = `list-${messages.length}`;
    return { content: [{ type: 'tool_use', id, name: 'list_files', input: {} }], finishReason: 'tool-calls' };
  },
};

const spawn = (task: string) => ({
  name: 'agent_spawn',
  input: { agent: 'counter', task, background: true },
});
const model = new ScriptedModel([
  { toolCalls: [spawn('Count the files'), spawn('Count them again')] },
  { text: 'Two are counting. Ask me anything meanwhile.' },
  { text: 'Forty-two.' },
]);

const workspace = mkdtempSync(join(tmpdir(), 'x-example-'));
const ended: string[] = [];
const agent = HarnessAgent.builder()
  .model(model)
  .workspace(workspace)
  .use(
    workspaceTools(),
    subagents([
      {
        name: 'counter',
        description: 'Counts files',
        systemPrompt: 'You count.',
        model: counter,
        tools: ['list_files'],
      },
    ]),
  )
  .onEvent((event) => {
    if (event.type === 'task.changed' && event.status === 'completed') ended.push(event.taskId);
  })
  .build();

const session = RuntimeContext.of({ userId: 'alice', sessionId: 's-001' });
const first = await agent.call('Have the files counted, twice', session);
console.log(first.text);
while (ended.length < 2) await new Promise((resolve) => setTimeout(resolve, 5));
await agent.call('What is the answer?', session);

const spawned = model.requests[1]?.messages.flatMap((message) => toolUsesOf(message)) ?? [];
const news = model.requests.at(-1)?.messages.find((message) => message.id === 'finished-tasks');
console.log(`${spawned.length} tasks; what the model was told:\n${news ? textOf(news) : 'nothing'}`);

await agent.close();
rmSync(workspace, { recursive: true });
if (!news || textOf(news).match(/completed/g)?.length !== 2)
  throw new Error('The ends of the tasks were not told.');
