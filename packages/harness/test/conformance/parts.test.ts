import { compaction } from '@x/compaction';
import { InMemorySession, RuntimeContext, userMessage } from '@x/core';
import { ScriptedModel } from '@x/testkit';
import { describe, expect, it } from 'vitest';
import { HarnessAgent, HarnessConfigError } from '../../src/index.js';
import { mcp } from '../../src/mcp/index.js';
import { scratch } from '../support.js';

const base = () =>
  HarnessAgent.builder()
    .workspace(scratch())
    .model(new ScriptedModel([{ text: 'Hi' }]));

function issuesOf(build: () => unknown): readonly string[] {
  try {
    build();
  } catch (error) {
    if (HarnessConfigError.isInstance(error))
      return error.issues.map(({ path, message }) => `${path}: ${message}`);
    throw error;
  }
  return [];
}

describe('an agent built without a type checker', () => {
  it('is told of parts that are none, all at once, and what to do', () => {
    const plainTool = { description: 'A tool of another library', execute: () => 'x' };
    const issues = issuesOf(() =>
      HarnessAgent.builder()
        .workspace({} as never)
        .model('gpt-5' as never)
        .session({} as never)
        .tools(plainTool as never)
        .use(compaction as never, mcp({ servers: {} }) as never, undefined as never)
        .build(),
    );
    expect(issues).toEqual([
      'model: must be a model; wrap a model of a provider, for example with @x/ai-sdk',
      'tools[0].definition: must be an object; make the tool with defineTool of @x/core',
      'tools[0].run: must be a function',
      'capabilities[0]: must be a capability: an object with a name, not a function',
      'capabilities[1].name: must be a string; if the capability is a promise, await it first',
      'capabilities[2]: must be a capability: an object with a name, not a function',
      'workspace: matches none of the allowed forms (must be a path; or must be a workspace, such as new LocalWorkspace(…))',
      'session: must be a session store, such as new JsonSession(…)',
    ]);
  });

  it('refuses a context that is none, and an input that says nothing, and stores neither', async () => {
    const session = new InMemorySession();
    const agent = base().session(session).build();
    const context = RuntimeContext.of({ sessionId: 's' });
    await expect(agent.call('Hi', 's' as never)).rejects.toThrow('must be a RuntimeContext');
    for (const input of ['', ' \n', userMessage(''), [userMessage('Hi'), userMessage('')]]) {
      await expect(agent.call(input, context)).rejects.toThrow('must not be empty');
    }
    await expect(agent.call(undefined as never, context)).rejects.toThrow('must be text');
    const call = { type: 'tool_use', id: 'c', name: 'look', input: {} } as const;
    await expect(agent.call({ ...userMessage('Hi'), content: [call] }, context)).rejects.toMatchObject({
      code: 'invalid_input',
      issues: [
        {
          path: '[0].content[0]',
          message: expect.stringContaining('a message with the role user cannot contain'),
        },
      ],
    });
    expect(await agent.state(context)).toBeUndefined();
    expect((await agent.call('Hi', context)).text).toBe('Hi');
  });
});
