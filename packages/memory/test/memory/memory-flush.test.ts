import { type AgentEventBody, type CallScope, type SessionLog, userMessage } from '@x/core';
import { LocalWorkspace } from '@x/core/node';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { MemoryIndex, memory } from '../../src/index.js';
import { between, factTaker, merger, promptOf } from '../support/models.js';
import {
  callScope,
  logSession,
  runTool,
  type TestWorkspace,
  testWorkspace,
  toolContext,
} from '../support/test-context.js';

const alice = { userId: 'alice', agentId: 'coder', sessionId: 's-1' };
const prefix = 'users/alice/agents/coder/';

/** Takes facts from conversations, and merges them. */
function keeper() {
  const [taking, merging] = [factTaker(), merger()];
  return {
    id: 'keeper',
    taking,
    merging,
    generate: (request: Parameters<typeof taking.generate>[0]) =>
      (between(promptOf(request), 'transcript') === '' ? merging : taking).generate(request),
  };
}

/** A scope whose background work can be waited for. */
function liveScope(workspace: TestWorkspace, overrides: Partial<CallScope> = {}) {
  const events: AgentEventBody[] = [];
  const work: Promise<void>[] = [];
  const scope: CallScope = {
    ...callScope(workspace, alice),
    emit: (event) => void events.push(event),
    background: (_, task) => void work.push(Promise.resolve().then(() => task(new AbortController().signal))),
    ...overrides,
  };
  return { scope, events, drain: () => Promise.all(work) };
}

const completed = {
  type: 'call.completed',
  callId: 'call',
  stopReason: 'completed',
  text: '',
  steps: 1,
  pendingCalls: [],
  usage: { inputTokens: 0, outputTokens: 0 },
} as const;

function testMemory(config: Parameters<typeof memory>[0]) {
  const capability = memory(config);
  onTestFinished(() => capability.close?.());
  return capability;
}

describe('after a call', () => {
  it('what was said reaches the note, MEMORY.md, the prompt and the search', async () => {
    const workspace = await testWorkspace();
    const model = keeper();
    const index = await MemoryIndex.open(':memory:');
    onTestFinished(() => index.close());
    const capability = testMemory({ model, index });
    const { scope, events, drain } = liveScope(workspace);
    await logSession(workspace, alice, [userMessage('Keep fact-1 in mind')]);
    capability.observe?.(completed, scope);
    await drain();
    const done = events.filter(({ type }) => type !== 'usage.reported');
    expect(done.map(({ type }) => type)).toEqual(['memory.flushed', 'memory.consolidated']);
    expect(await capability.system?.(scope)).toContain('fact-1');
    const found = await runTool(
      capability,
      'memory_search',
      { query: 'fact-1' },
      toolContext(workspace, alice),
    );
    expect(found).toContain('MEMORY.md:');
    expect(await index.search('fact')).toHaveLength(2);
  });

  it('the prompt’s section stays byte for byte the same until the file changes', async () => {
    const workspace = await testWorkspace();
    const capability = testMemory({ model: keeper() });
    await workspace.write(`${prefix}MEMORY.md`, '# Memory\n- fact-0\n');
    const { scope, drain } = liveScope(workspace);
    const before = await capability.system?.(scope);
    await logSession(workspace, alice, [userMessage('nothing of worth')]);
    capability.observe?.(completed, scope);
    await drain();
    expect(await capability.system?.(scope)).toBe(before);
    expect(before).toContain('fact-0');
  });

  it('the agent’s own model is used unless another is given, and none for null', async () => {
    const workspace = await testWorkspace();
    const own = keeper();
    const { scope, events, drain } = liveScope(workspace, { model: own });
    await logSession(workspace, alice, [userMessage('I prefer fact-1')]);
    testMemory({ consolidate: false }).observe?.(completed, scope);
    await drain();
    expect(own.taking.prompts).toHaveLength(1);
    await logSession(workspace, alice, [userMessage('I prefer fact-2')]);
    testMemory({ model: null }).observe?.(completed, scope);
    await drain();
    expect(own.taking.prompts).toHaveLength(1);
    // Nothing is noted, and the note that is there is copied.
    const done = events.filter(({ type }) => type !== 'usage.reported');
    expect(done.map(({ type }) => type)).toEqual(['memory.flushed', 'memory.consolidated']);
  });

  it('a failure is told, breaks nothing, and is made good by the next call', async () => {
    const workspace = await testWorkspace();
    let broken = true;
    const working = factTaker();
    const model = {
      ...working,
      generate: (request: Parameters<typeof working.generate>[0]) =>
        broken ? Promise.reject(new Error('out of order')) : working.generate(request),
    };
    const capability = testMemory({ model, consolidate: false });
    const { scope, events, drain } = liveScope(workspace);
    await logSession(workspace, alice, [userMessage('fact-1')]);
    capability.observe?.(completed, scope);
    await drain();
    expect(events).toEqual([{ type: 'memory.failed', operation: 'flush', error: 'out of order' }]);
    broken = false;
    capability.observe?.({ type: 'call.failed', callId: 'call', error: new Error() }, scope);
    await drain();
    expect(events.at(-1)).toMatchObject({ type: 'memory.flushed', bullets: 1 });
  });

  it('a MEMORY.md that is too large stays as it is, and every reader says so', async () => {
    const workspace = await testWorkspace();
    await workspace.write(`${prefix}MEMORY.md`, '- A line of someone else.\n'.repeat(10_000));
    const tooLarge = `${prefix}MEMORY.md: has 260000 bytes, and may have at most 256000. Move some of its text`;
    const capability = testMemory({ model: factTaker() });
    const { scope, events, drain } = liveScope(workspace);
    expect(await capability.system?.(scope)).toContain(`\n[Invalid ${tooLarge}`);
    await logSession(workspace, alice, [userMessage('fact-1')]);
    capability.observe?.(completed, scope);
    await drain();
    expect(events).toEqual([
      { type: 'memory.failed', operation: 'flush', error: expect.stringContaining(tooLarge) },
    ]);
    await workspace.write(`${prefix}MEMORY.md`, '- Likes tea\n');
    expect(JSON.stringify(await capability.remind?.(scope))).toContain('now: - Likes tea');
    capability.observe?.(completed, scope);
    await drain();
    expect(events.at(-1)).toMatchObject({ type: 'memory.consolidated' });
  });

  it('nothing is written when the log is no file beside the memory', async () => {
    const workspace = await testWorkspace();
    const log: SessionLog = {
      location: 'kafka://logs',
      append: async () => {},
      async *read() {},
      get: async () => undefined,
    };
    const { scope, events, drain } = liveScope(workspace, { log });
    testMemory({ model: null, consolidate: false }).observe?.(completed, scope);
    await drain();
    expect(events).toMatchObject([{ type: 'memory.failed', error: expect.stringContaining('kafka://logs') }]);
  });
});

it('before a reduction, the session is flushed even when calls are throttled', async () => {
  const workspace = await testWorkspace();
  const model = keeper();
  const capability = testMemory({ model, flush: 'throttled', consolidate: false });
  const { scope, drain } = liveScope(workspace);
  for (const [fact, flush] of [
    ['fact-1', () => capability.observe?.(completed, scope)],
    ['fact-2', () => capability.observe?.(completed, scope)],
    ['fact-3', () => capability.beforeReduction?.([], scope)],
  ] as const) {
    await logSession(workspace, alice, [userMessage(fact)]);
    await flush();
    await drain();
  }
  expect(model.taking.prompts.map((prompt) => between(prompt, 'transcript').match(/fact-\d/g))).toEqual([
    ['fact-1'],
    ['fact-2', 'fact-3'],
  ]);
});

it('a flush waits for one other of its session, however many calls have ended meanwhile', async () => {
  const lock = vi.spyOn(LocalWorkspace.prototype, 'lock');
  onTestFinished(() => lock.mockRestore());
  const workspace = await testWorkspace();
  const model = keeper();
  const capability = testMemory({ model, consolidationGapMs: 0, flush: 'throttled' });
  const { scope, events, drain } = liveScope(workspace);
  await logSession(workspace, alice, [userMessage('fact-1')]);
  capability.observe?.(completed, scope);
  await drain();
  await logSession(workspace, alice, [userMessage('fact-2')]);
  lock.mockClear();
  for (let call = 0; call < 50; call++) capability.observe?.(completed, scope);
  await capability.beforeReduction?.([], scope);
  for (let call = 0; call < 50; call++) capability.observe?.(completed, scope);
  await drain();
  expect(events.filter(({ type }) => type === 'memory.flushed')).toHaveLength(2);
  expect(between(model.taking.prompts.at(-1) ?? '', 'transcript')).toContain('fact-2');
  // For each round one to flush, and some to merge; not one for each call.
  expect(lock.mock.calls.length).toBeLessThan(20);
});
