// Models with small windows, and models that accept only short answers.
import { ContextOverflowError, estimateCounter, type Model, SessionKey, userMessage } from '@x/core';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { MemoryService, memory } from '../src/index.js';
import { modelOf, promptOf, scribe } from './support/models.js';
import { callScope, logSession, testWorkspace } from './support/test-context.js';

const TIMEOUT = new DOMException('The operation was aborted due to timeout', 'TimeoutError');
const alice = { userId: 'alice', agentId: 'coder' };

/** A model that counts the tokens of the answer as part of its window, as vLLM does. */
function strict(contextWindow: number, asked: number[]): Model {
  const { generate } = scribe();
  return {
    id: 'strict',
    contextWindow,
    async generate(request) {
      const { system = '', maxOutputTokens = 0 } = request;
      asked.push(maxOutputTokens);
      if (estimateCounter.count(`${system}${promptOf(request)}`) + maxOutputTokens > contextWindow)
        throw new ContextOverflowError('too long');
      return generate(request);
    },
  };
}

/** Notes and merges what a user said in 20 long messages. Returns the number of facts. */
async function factsBy(model: Model): Promise<number> {
  const workspace = await testWorkspace();
  const service = new MemoryService({ workspace, model, maintenance: false });
  onTestFinished(() => service.close());
  const said = Array.from({ length: 20 }, (_, at) => userMessage(`Fact ${at}: ${'word '.repeat(70)}x${at}`));
  await logSession(workspace, { ...alice, sessionId: 's' }, said);
  await service.flush(SessionKey.of({ ...alice, sessionId: 's' }));
  await service.consolidate(alice, { now: true });
  return (await service.facts(alice)).length;
}

describe('a request for facts', () => {
  it.each([4_096, 8_192])('fits with its answer into a window of %d tokens', async (window) => {
    const asked: number[] = [];
    expect(await factsBy(strict(window, asked))).toBe(20);
    expect(Math.max(...asked)).toBe(window / 4);
  });

  it('asks for no more tokens than old models give', async () => {
    const asked: number[] = [];
    expect(await factsBy(strict(128_000, asked))).toBe(20);
    expect(Math.max(...asked)).toBeLessThanOrEqual(4_096);
  });

  it('has many notes, even if MEMORY.md fills the window', async () => {
    const workspace = await testWorkspace();
    const model = { ...scribe(), contextWindow: 4_096 };
    const service = new MemoryService({ workspace, model, maintenance: false });
    onTestFinished(() => service.close());
    const prefix = 'users/alice/agents/coder/';
    await workspace.write(`${prefix}MEMORY.md`, '- A person likes tea\n'.repeat(800));
    const notes = Array.from({ length: 50 }, (_, at) => `- The service uses port ${at}\n`);
    await workspace.write(`${prefix}memory/2026-06-01.md`, notes.join(''));
    await service.consolidate(alice, { now: true });
    expect(model.prompts.length).toBeLessThan(5);
  });

  it('asks for twice as many after a cut-off answer, because models think in them', async () => {
    const asked: (number | undefined)[] = [];
    const model = modelOf(() => (asked.length % 3 === 0 ? 'NO_REPLY' : { finishReason: 'length' }));
    const thinking: Model = {
      ...model,
      generate(request) {
        asked.push(request.maxOutputTokens);
        return model.generate(request);
      },
    };
    expect(await factsBy(thinking)).toBe(0);
    expect(asked).toEqual([4_000, 8_000, 16_000]);
  });
});

it('skips messages about which a model thinks longer than a request may take, and pays for them once', async () => {
  const workspace = await testWorkspace();
  await logSession(workspace, { ...alice, sessionId: 's' }, [userMessage('Hard')]);
  const never = new AbortController().signal;
  const timeout = vi.spyOn(AbortSignal, 'timeout').mockImplementation(() => never);
  onTestFinished(() => timeout.mockRestore());
  // The second request asks for twice as many tokens, which take too long.
  timeout.mockImplementationOnce(() => never).mockImplementationOnce(() => AbortSignal.abort(TIMEOUT));
  const model = modelOf(() => ({ finishReason: 'length' }));
  const service = new MemoryService({ workspace, model, maintenance: false });
  onTestFinished(() => service.close());
  const session = SessionKey.of({ ...alice, sessionId: 's' });
  expect((await service.flush(session)).messages).toBe(1);
  expect((await service.flush(session)).messages).toBe(0);
});

it('shows MEMORY.md in at most an eighth of a small window', async () => {
  const workspace = await testWorkspace();
  const capability = memory({ model: null, maintenance: false });
  onTestFinished(() => capability.close?.());
  await workspace.write('users/alice/agents/coder/MEMORY.md', '- Likes tea\n'.repeat(1_000));
  const shown = async (contextWindow: number) => {
    const scope = callScope(workspace, { ...alice, sessionId: 's' });
    const model: Model = { ...modelOf(() => ''), contextWindow };
    return estimateCounter.count((await capability.system?.({ ...scope, model })) ?? '');
  };
  const frame = 150;
  expect(await shown(8_000)).toBeLessThanOrEqual(1_000 + frame);
  expect(await shown(128_000)).toBeGreaterThan(2_500);
});
