// A capability is a name and the hooks that it wants. This one remembers what every tool call cost in time.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Capability } from '@x/core';
import { HarnessAgent, workspaceTools } from '@x/harness';
import { ScriptedModel } from '@x/testkit';

function stopwatch(times: Map<string, number>): Capability {
  return {
    name: 'stopwatch',
    async aroundTool(call, _scope, next) {
      const startedAt = performance.now();
      try {
        return await next(call);
      } finally {
        times.set(call.name, (times.get(call.name) ?? 0) + performance.now() - startedAt);
      }
    },
  };
}

const workspace = mkdtempSync(join(tmpdir(), 'x-example-'));
const times = new Map<string, number>();
const agent = HarnessAgent.builder()
  .model(
    new ScriptedModel([
      { toolCalls: [{ name: 'write_file', input: { path: 'a.txt', content: 'hello' } }] },
      { toolCalls: [{ name: 'read_file', input: { path: 'a.txt' } }] },
      { text: 'Done.' },
    ]),
  )
  .workspace(workspace)
  .use(stopwatch(times), workspaceTools())
  .build();

await agent.call('Write and read a file');
await agent.close();
console.log(Object.fromEntries(times));

rmSync(workspace, { recursive: true });
if (times.size !== 2) throw new Error('Some tool calls were missed.');
