import { assistantMessage, SessionKey, type SessionKeyParts, userMessage } from '@x/core';
import { LocalWorkspace } from '@x/core/node';
import { describe, expect, it } from 'vitest';
import { memory, workspaceContext } from '../../src/index.js';
import { memoryConfigSchema, memoryServiceSchema } from '../../src/settings.js';
import { ManualClock } from '../support/manual-clock.js';
import { between, factTaker, modelOf } from '../support/models.js';
import { flusherOf } from '../support/parts.js';
import { callScope, logSession, testWorkspace } from '../support/test-context.js';

const parts = { userId: 'alice', agentId: 'coder', sessionId: 's-1' };
const key = SessionKey.of(parts);
const clock = new ManualClock(Date.parse('2026-03-04T12:00:00Z'));

describe('a flush', () => {
  it('of nothing but summaries and injected messages asks no model', async () => {
    const workspace = await testWorkspace();
    const model = factTaker();
    await logSession(workspace, parts, [
      userMessage('[CONVERSATION_SUMMARY] fact-1', { kind: 'summary' }),
      userMessage('Do not forget fact-2', { kind: 'synthetic' }),
      assistantMessage([{ type: 'thinking', thinking: 'fact-3' }]),
    ]);
    const outcome = await flusherOf({ workspace, model, clock }).flush(key);
    expect(outcome).toMatchObject({ status: 'flushed', bullets: [], paths: [] });
    expect(model.prompts).toEqual([]);
  });

  it('reads a message once, however often it is logged', async () => {
    const workspace = await testWorkspace();
    const model = factTaker();
    const flusher = flusherOf({ workspace, model, clock });
    const said = [userMessage('fact-1'), assistantMessage('Noted.')];
    await logSession(workspace, parts, said);
    await flusher.flush(key);
    await logSession(workspace, parts, [...said, userMessage('fact-2')]);
    await logSession(workspace, parts, said);
    await flusher.flush(key);
    expect(model.prompts.map((prompt) => between(prompt, 'transcript').match(/fact-\d/g))).toEqual([
      ['fact-1'],
      ['fact-2'],
    ]);
  });

  it('whose gap is 0 is never throttled', async () => {
    const workspace = await testWorkspace();
    const flusher = flusherOf({
      workspace,
      model: factTaker(),
      clock,
      flush: 'throttled',
      flushGapMs: 0,
    });
    for (const fact of ['fact-1', 'fact-2', 'fact-3']) {
      await logSession(workspace, parts, [userMessage(fact)]);
      expect(await flusher.flush(key, { reason: 'turn' })).toMatchObject({
        status: 'flushed',
        bullets: [expect.stringContaining(fact)],
      });
    }
  });

  it.each<[string, SessionKeyParts]>([
    ['session', { ...parts, sessionId: 's-2' }],
    ['user', { ...parts, userId: 'bob' }],
    ['agent', { ...parts, agentId: 'writer' }],
    ['tenant', { ...parts, tenantId: 'acme' }],
    ['user without an id', { agentId: 'coder', sessionId: 's-1' }],
  ])('that is throttled throttles no other %s, also in another process', async (_, other) => {
    const workspace = await testWorkspace();
    const flush = async (session: SessionKeyParts, fact: string) => {
      await logSession(workspace, session, [userMessage(fact)]);
      const flusher = flusherOf({ workspace, model: factTaker(), clock, flush: 'throttled' });
      return (await flusher.flush(SessionKey.of(session), { reason: 'turn' })).status;
    };
    expect(await flush(parts, 'fact-1')).toBe('flushed');
    expect(await flush(parts, 'fact-2')).toBe('skipped');
    expect(await flush(other, 'fact-3')).toBe('flushed');
  });
});

describe('the configuration of a memory', () => {
  it('has these defaults', () => {
    expect(memoryConfigSchema.parse({})).toMatchObject({
      index: ':memory:',
      flush: 'always',
      consolidate: true,
      consolidationGapMs: 1_800_000,
      maxMemoryTokens: 4_000,
      maxPromptTokens: 4_000,
      maintenance: true,
      pruneSessionsAfterDays: 180,
    });
  });

  it('is that of a service without an agent, but for what an agent knows or shows by itself', () => {
    const [workspace, model] = [new LocalWorkspace('unused'), null];
    const { maxPromptTokens, tools, ...shared } = memoryConfigSchema.parse({ model });
    expect([maxPromptTokens, tools]).toEqual([4_000, true]);
    const { clock: _, redact, ...service } = memoryServiceSchema.parse({ workspace });
    expect({ ...shared, workspace }).toEqual({ ...service, redact: true });
    expect(redact('Bearer abcdefghijklmnopqrstuvwxyz0123456789')).not.toContain('abcdef');
    expect(Object.keys(memoryServiceSchema.shape).sort()).toEqual(
      [...Object.keys(shared), 'workspace', 'clock'].sort(),
    );
  });

  it.each([
    ['flush', { flush: 'often' }],
    ['flushGapMs', { flushGapMs: -1 }],
    ['consolidationGapMs', { consolidationGapMs: 1.5 }],
    ['maxMemoryTokens', { maxMemoryTokens: 0 }],
    ['maintenance', { maintenance: { intervalMs: 5 } }],
    ['pruneSessionsAfterDays', { pruneSessionsAfterDays: -1 }],
    ['flushBefore', { flushBefore: true }],
  ])('is refused by the path of what is wrong: %s', (path, config) => {
    expect(() => memory(config as never)).toThrow(path);
  });
});

describe('MEMORY.md in the system prompt', () => {
  it('is that of this user alone: nobody inherits one that lies elsewhere', async () => {
    const workspace = await testWorkspace();
    await workspace.write('MEMORY.md', '- of the root');
    await workspace.write('agents/coder/MEMORY.md', '- of nobody');
    await workspace.write('users/bob/agents/coder/MEMORY.md', '- of bob');
    for (const capability of [memory({ model: null, maintenance: false }), workspaceContext()]) {
      expect(await capability.system?.(callScope(workspace, parts))).toBeUndefined();
      await capability.close?.();
    }
  });

  it('keeps the newest, when there is too much of it', async () => {
    const workspace = await testWorkspace();
    const facts = Array.from({ length: 4_000 }, (_, index) => `- fact-${index}`).join('\n');
    await workspace.write('users/alice/agents/coder/MEMORY.md', facts);
    const capability = memory({ model: null, maintenance: false, maxPromptTokens: 500 });
    expect(await capability.system?.(callScope(workspace, parts))).toContain('- fact-3999');
    await capability.close?.();
  });
});

describe('a reply', () => {
  it('never waits for the memory', async () => {
    const workspace = await testWorkspace();
    let answer: (text: string) => void = () => {};
    const asked = new Promise<string>((resolve) => {
      answer = resolve;
    });
    const model = modelOf(() => '');
    const slow = {
      ...model,
      generate: async () => ({
        content: [{ type: 'text' as const, text: await asked }],
        finishReason: 'stop' as const,
      }),
    };
    const capability = memory({ model: slow, consolidate: false, maintenance: false });
    const work: Promise<void>[] = [];
    const scope = {
      ...callScope(workspace, parts),
      background: (_: string, task: (signal: AbortSignal) => Promise<void>) =>
        void work.push(task(new AbortController().signal)),
    };
    await logSession(workspace, parts, [userMessage('fact-1')]);
    // Hears of the end of the call, and returns at once though the model never answered.
    capability.observe?.({ type: 'call.failed', callId: 'call', error: new Error() }, scope);
    expect(work).toHaveLength(1);
    answer('- fact-1');
    await Promise.all(work);
    expect(await workspace.stat('users/alice/agents/coder/memory')).toBeDefined();
    await capability.close?.();
  });
});
