import { type ModelRequest, RuntimeContext, storageOf, userMessage } from '@x/core';
import { LocalWorkspace } from '@x/core/node';
import { MemoryService, memory, sessionHistory } from '@x/memory';
import { ScriptedModel } from '@x/testkit';
import { describe, expect, it, onTestFinished } from 'vitest';
import { HarnessAgent } from '../../src/index.js';
import { scratch } from '../support.js';

const CANARY = 'canary-8f31';
const call = (name: string, input: Record<string, string>) => ({
  toolCalls: [{ id: `${name}-1`, name, input }],
});

/** Says a canary in one session, and looks for it in the next with every tool. Answers what the second one was sent. */
async function secondVisitor(
  withoutUser: 'private' | 'shared',
  userId?: string,
): Promise<readonly ModelRequest[]> {
  const workspace = new LocalWorkspace(scratch());
  const model = new ScriptedModel([
    { text: 'Noted.' },
    call('session_search', { query: CANARY }),
    call('session_list', {}),
    call('memory_search', { query: CANARY }),
    call('memory_get', { path: 'MEMORY.md' }),
    { text: 'Done.' },
  ]);
  for (const [sessionId, text, noted] of [
    ['first', `Remember: the gate opens with ${CANARY}`, `- The gate opens with ${CANARY}`],
    ['second', 'What opens the gate?', 'NO_REPLY'],
  ] as const) {
    const keeper = new ScriptedModel([{ text: noted }, { text: `ADD n1: The gate opens with ${CANARY}` }]);
    const agent = HarnessAgent.builder()
      .model(model)
      .workspace(workspace)
      .use(memory({ model: keeper, maintenance: false, withoutUser }), sessionHistory({ withoutUser }))
      .build();
    await agent.call(text, RuntimeContext.of({ userId, sessionId }));
    await agent.close();
  }
  return model.requests.slice(1);
}

describe('calls without a user', () => {
  it.each([
    ['share nothing', 'private', undefined, false],
    ['share where that is asked for', 'shared', undefined, true],
    ['differ from calls with one', 'private', 'alice', true],
  ] as const)('%s', async (_, withoutUser, userId, shares) => {
    const requests = await secondVisitor(withoutUser, userId);
    // What the model itself asked for is not an answer.
    const results = requests.map(({ system, messages }) =>
      JSON.stringify([system, messages.filter(({ role }) => role !== 'assistant')]),
    );
    expect(results).toHaveLength(5);
    expect(results.some((text) => text.includes(`opens with ${CANARY}`))).toBe(shares);
    const offered = requests[0]?.tools?.some(({ name }) => name.startsWith('memory_'));
    expect(offered).toBe(shares);
  });

  it('leave no note, not in a pass of the maintenance either', async () => {
    const workspace = storageOf(new LocalWorkspace(scratch()));
    const service = new MemoryService({ workspace, maintenance: false });
    onTestFinished(() => service.close());
    await expect(service.save({ agentId: 'agent' }, 'a fact')).rejects.toThrow('userId');
    await workspace.write('agents/agent/sessions/s.log.jsonl', `${JSON.stringify(userMessage(CANARY))}\n`);
    await workspace.write('agents/agent/memory/2020-01-01.md', `- ${CANARY}\n`);
    const report = await service.maintain();
    expect(report).toMatchObject({ scopes: 1, flushed: 0, consolidated: 0, failures: [] });
    expect(await workspace.stat('agents/agent/MEMORY.md')).toBeUndefined();
  });
});
