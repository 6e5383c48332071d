import { SessionKey, type SessionKeyParts, userMessage } from '@x/core';
import { WorkspaceSessionLog } from '@x/core/node';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { memoryCapabilities, sessionHistory } from '../../src/index.js';
import { logSession, runTool, testWorkspace, toolContext } from '../support/test-context.js';

const alice = { tenantId: 'acme', userId: 'alice' };
const now = { ...alice, agentId: 'coder', sessionId: 'now' };
/** Of nobody. */
const absent = { tenantId: undefined, userId: undefined };
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

describe('another agent of the user', () => {
  it('is listed, read and searched by its id, apart from all other agents', async () => {
    const workspace = await testWorkspace();
    for (const [number, agentId] of HOSTILE.entries()) {
      await logSession(workspace, { ...alice, agentId, sessionId: 's' }, [
        userMessage(`needle of agent-${number}.`),
      ]);
    }
    await logSession(workspace, now, [userMessage('needle of mine.')]);
    const context = toolContext(workspace, now);
    for (const [number, agentId] of HOSTILE.entries()) {
      const asked = [
        ['session_list', { agentId }],
        ['session_history', { agentId }],
        ['session_history', { agentId, sessionId: 's' }],
        ['session_history', { agentId, number: 1 }],
        ['session_search', { agentId, query: 'needle' }],
      ] as const;
      for (const [name, input] of asked) {
        const text = await runTool(plain, name, input, context);
        expect(text.match(/needle of (?:agent-\d+|mine)/g)).toEqual([`needle of agent-${number}`]);
        expect(text).not.toContain('current');
      }
    }
    const own = await runTool(plain, 'session_search', { query: 'needle' }, context);
    expect(own.match(/needle of .*/g)).toEqual(['needle of mine.']);
  });

  it('is never one of another user or tenant, whatever the ids', async () => {
    const part = fc.oneof(
      fc.constantFrom('writer', 'alice', 'agents', 'users', ...HOSTILE),
      fc.string({ minLength: 1 }),
    );
    const owner = fc.record(
      { tenantId: part, userId: part, agentId: part, sessionId: part },
      { requiredKeys: ['sessionId'] },
    );
    await fc.assert(
      fc.asyncProperty(owner, owner, fc.boolean(), fc.option(part), async (one, other, isSame, wanted) => {
        const caller = isSame ? { ...other, agentId: one.agentId } : one;
        const agentId = wanted ?? other.agentId ?? 'writer';
        const workspace = await testWorkspace();
        await logSession(workspace, other, [userMessage('needle.')]);
        const context = toolContext(workspace, { ...caller, sessionId: `${caller.sessionId} now` });
        const isAllowed =
          caller.tenantId === other.tenantId && caller.userId === other.userId && agentId === other.agentId;
        const { sessionId } = other;
        for (const [name, input] of [
          ['session_list', { agentId }],
          ['session_history', { agentId, sessionId }],
          ['session_search', { agentId, query: 'needle' }],
        ] as const) {
          const text = await runTool(plain, name, input, context);
          expect(text.includes('needle.')).toBe(isAllowed);
        }
      }),
      { numRuns: 100 },
    );
  });
});

describe('agentId', () => {
  it('of the calling agent changes nothing', async () => {
    const workspace = await testWorkspace();
    await logSession(workspace, { ...now, sessionId: 'old' }, [userMessage('needle 1')]);
    await logSession(workspace, now, [userMessage('needle 2')]);
    const context = toolContext(workspace, now);
    for (const [name, input] of [
      ['session_list', {}],
      ['session_history', {}],
      ['session_history', { sessionId: 'old' }],
      ['session_search', { query: 'needle' }],
    ] as const) {
      const text = await runTool(plain, name, input, context);
      expect(text).toContain('needle');
      expect(await runTool(plain, name, { ...input, agentId: 'coder' }, context)).toBe(text);
    }
  });

  it('of an agent without sessions with this user is answered by saying so', async () => {
    const workspace = await testWorkspace();
    await logSession(workspace, { ...alice, agentId: 'coder/Explorer', sessionId: 's' }, [userMessage('a')]);
    await logSession(workspace, { ...alice, userId: 'bob', agentId: 'secret', sessionId: 's' }, [
      userMessage('b'),
    ]);
    const context = toolContext(workspace, now);
    for (const name of ['session_list', 'session_history', 'session_search']) {
      const input = { agentId: 'secret', ...(name === 'session_search' ? { query: 'a' } : {}) };
      expect(await runTool(plain, name, input, context)).toBe(
        'There are no sessions of agent "secret" with this user.',
      );
    }
    const input = { agentId: 'coder/Explorer', sessionId: 'x' };
    expect(await runTool(plain, 'session_history', input, context)).toContain(
      'There is no session "x" of agent "coder/Explorer".',
    );
  });

  it('reads nothing when the log of the call does not lie where logs of its user do', async () => {
    const workspace = await testWorkspace();
    const writer = { ...alice, agentId: 'writer', sessionId: 's' };
    await logSession(workspace, writer, [userMessage('needle')]);
    const read = async (owner: SessionKeyParts) => {
      const log = new WorkspaceSessionLog(workspace, SessionKey.of({ ...owner, sessionId: 'now' }));
      const input = { agentId: 'writer', query: 'needle' };
      return runTool(plain, 'session_search', input, { ...toolContext(workspace, now), log });
    };
    expect(await read(now)).toContain('session "s"');
    for (const owner of [
      { ...now, userId: 'bob' },
      { userId: 'alice', sessionId: 'now' },
      { sessionId: 'now' },
    ]) {
      expect(await read(owner)).toBe('There are no sessions of agent "writer" with this user.');
    }
  });

  it('leads from the log of a user to no agent of nobody, or of another level', async () => {
    const workspace = await testWorkspace();
    const levels = [{}, { tenantId: 'acme' }, { userId: 'alice' }, alice];
    for (const level of levels) {
      await logSession(workspace, { ...level, agentId: 'writer', sessionId: 's' }, [userMessage('needle')]);
    }
    const shared = sessionHistory({ withoutUser: 'shared' });
    for (const said of levels) {
      for (const logged of levels) {
        const log = new WorkspaceSessionLog(workspace, SessionKey.of({ ...now, ...absent, ...logged }));
        const context = { ...toolContext(workspace, { ...said, sessionId: 'now' }), log };
        const text = await runTool(shared, 'session_history', { agentId: 'writer' }, context);
        expect(text.includes('needle')).toBe(said === logged);
        const kept = await runTool(plain, 'session_history', { agentId: 'writer' }, context);
        expect(kept.includes('needle')).toBe(said === logged && 'userId' in said);
      }
    }
  });

  it('does not exist with otherAgents: false', async () => {
    const workspace = await testWorkspace();
    await logSession(workspace, { ...alice, agentId: 'writer', sessionId: 's' }, [userMessage('secret')]);
    const context = toolContext(workspace, now);
    const closed = sessionHistory({ otherAgents: false });
    for (const name of ['session_list', 'session_history', 'session_search']) {
      const input = { agentId: 'writer', ...(name === 'session_search' ? { query: 'secret' } : {}) };
      await expect(runTool(closed, name, input, context)).rejects.toThrow('agentId');
    }
    expect(JSON.stringify(closed.tools?.map(({ definition }) => definition))).not.toContain('agentId');
    expect(await runTool(closed, 'session_list', {}, context)).toContain('1 sessions.');
  });

  it('is forbidden by other_agents in a file', async () => {
    const made = await memoryCapabilities.session_history?.create({ other_agents: false });
    expect(made?.tools).toHaveLength(3);
    expect(JSON.stringify(made)).not.toContain('agentId');
  });
});
