import { userMessage } from '@x/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sessionHistory } from '../../src/index.js';
import { logSession, runTool, testWorkspace, toolContext } from '../support/test-context.js';

const alice = { tenantId: 'acme', userId: 'alice' };
const now = { ...alice, agentId: 'coder', sessionId: 'now' };
const plain = sessionHistory();

/** Ids of agents that a careless encoding would let meet, or lead somewhere. */
const HOSTILE = [
  '../x',
  '..',
  '.',
  '/',
  'users/bob/agents/a',
  '../../bob/agents/writer',
  '../../../../other/users/alice/agents/writer',
  '%2e%2e',
  '%2e%2e/x',
  'coder/explorer',
  'Coder',
  'coder\0',
  '\u0001\n\u007f',
  '\ud800',
  'con',
  '*',
  'a'.repeat(600),
  `${'a'.repeat(599)}b`,
  '語'.repeat(600),
];

describe('the sessions that tools see', () => {
  it('are those of the call alone, however alike the ids of other agents are', async () => {
    const workspace = await testWorkspace();
    for (const [number, agentId] of HOSTILE.entries()) {
      await logSession(workspace, { ...alice, agentId, sessionId: 's' }, [
        userMessage(`needle of agent-${number}.`),
      ]);
    }
    for (const [number, agentId] of HOSTILE.entries()) {
      const context = toolContext(workspace, { ...alice, agentId, sessionId: 'now' });
      for (const [name, input] of [
        ['session_list', {}],
        ['session_history', { sessionId: 's' }],
        ['session_search', { query: 'needle' }],
      ] as const) {
        const text = await runTool(plain, name, input, context);
        expect(text.match(/needle of agent-\d+/g)).toEqual([`needle of agent-${number}`]);
      }
    }
  });

  it('are never those of another tenant, user or agent, whatever the ids', async () => {
    const part = fc.oneof(
      fc.constantFrom('writer', 'alice', 'agents', 'users', ...HOSTILE),
      fc.string({ minLength: 1 }),
    );
    const owner = fc.record(
      { tenantId: part, userId: part, agentId: part, sessionId: part },
      { requiredKeys: ['sessionId'] },
    );
    await fc.assert(
      fc.asyncProperty(owner, owner, fc.boolean(), async (one, other, isSame) => {
        const caller = isSame ? { ...other, sessionId: one.sessionId } : one;
        const workspace = await testWorkspace();
        await logSession(workspace, other, [userMessage('needle.')]);
        const context = toolContext(workspace, { ...caller, sessionId: `${caller.sessionId} now` });
        const isAllowed =
          caller.userId !== undefined &&
          caller.tenantId === other.tenantId &&
          caller.userId === other.userId &&
          caller.agentId === other.agentId;
        const { sessionId } = other;
        for (const [name, input] of [
          ['session_list', {}],
          ['session_history', { sessionId }],
          ['session_search', { query: 'needle' }],
        ] as const) {
          const text = await runTool(plain, name, input, context);
          expect(text.includes('needle.')).toBe(isAllowed);
        }
      }),
      { numRuns: 100 },
    );
  });

  it('cannot be chosen by an agentId', async () => {
    const context = toolContext(await testWorkspace(), now);
    const chosen = runTool(plain, 'session_list', { agentId: 'writer' }, context);
    await expect(chosen).rejects.toThrow('agentId');
  });
});
