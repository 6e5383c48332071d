import { toolResultEviction } from '@x/compaction';
import { defineTool } from '@x/core';
import { memory, sessionHistory } from '@x/memory';
import { isolationSuite } from '@x/testkit/suites';
import { z } from 'zod';
import {
  findSandbox,
  HarnessAgent,
  planMode,
  shell,
  skills,
  subagents,
  todoList,
  workspaceTools,
} from '../../src/index.js';
import { scratch } from '../support.js';

const report = defineTool({
  name: 'report',
  description: 'Reports at length',
  readOnly: true,
  input: z.strictObject({ on: z.string() }),
  execute: ({ on }) => `${on}\n`.repeat(400),
});

isolationSuite({
  name: 'an agent of all parts, on files',
  areas: {
    sessions: /\/context\//,
    logs: /\.log\.jsonl$/,
    memory: /memory\//i,
    evictions: /^large_tool_results\//,
    plans: /^plans\//,
    tasks: /general-purpose.*\.log\.jsonl$/,
    files: /^files\//,
  },
  async open(model) {
    const agent = HarnessAgent.builder()
      .name('keeper')
      .model(model)
      .workspace(scratch())
      .tools(report)
      .use(
        toolResultEviction({ maxResultChars: 8_000, previewChars: 400 }),
        memory({ model: null, index: ':memory:', maintenance: false }),
        sessionHistory(),
        todoList(),
        planMode({ approval: false }),
        skills(),
        workspaceTools(),
        ...(findSandbox() ? [shell({ sandbox: 'required', timeoutMs: 120_000 })] : []),
        subagents([], { timeoutMs: 20_000 }),
      )
      .build();
    return { agent, storage: agent.storage, session: agent.session };
  },
});
