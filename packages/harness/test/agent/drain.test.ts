import { defineTool, InMemorySession, ModelError, RuntimeContext, textOf, toolResultsOf } from '@x/core';
import { type ScriptEntry, ScriptedModel } from '@x/testkit';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { HarnessAgent } from '../../src/index.js';
import { isPaired, scratch } from '../support.js';

const context = RuntimeContext.of({ userId: 'u', sessionId: 's' });
const PAY = { toolCalls: [{ name: 'pay', input: {} }] };

/** Two processes that share a store; the tool of the first ends when it is told to. */
function processes(script: readonly ScriptEntry[]) {
  const [workspace, session] = [scratch(), new InMemorySession()];
  let finish = () => {};
  let begin = () => {};
  const listeners = new Map<string, () => void>();
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const build = (entries: readonly ScriptEntry[], hears: 'polite' | 'deaf') => {
    const model = new ScriptedModel(entries);
    const pay = defineTool({
      name: 'pay',
      description: 'Pays',
      input: z.object({}),
      execute: (_, { signal }) =>
        new Promise<string>((resolve, reject) => {
          finish = () => resolve('paid');
          if (hears === 'polite') signal?.addEventListener('abort', () => reject(new Error('aborted')));
          begin();
        }),
    });
    const agent = HarnessAgent.builder()
      .model(model)
      .tools(pay)
      .workspace(workspace)
      .session(session)
      .onEvent(({ type }) => listeners.get(type)?.())
      .build();
    return { agent, model };
  };
  return {
    first: (hears: 'polite' | 'deaf') => build(script, hears),
    next: (...entries: ScriptEntry[]) => build(entries, 'deaf'),
    begun,
    event: (type: string) => new Promise<void>((resolve) => listeners.set(type, resolve)),
    finish: () => finish(),
  };
}

describe('an agent that closes', () => {
  it.each(['polite', 'deaf'] as const)(
    'lets a %s tool end, stores its result, and stops behind the step',
    async (hears) => {
      const { first, next, begun, finish } = processes([PAY]);
      const { agent, model } = first(hears);
      const call = agent.call('Pay', context, { id: 'c' });
      await begun;
      const closed = agent.close();
      expect(agent.readiness()).toMatchObject({ isReady: false, isDraining: true, running: 1 });
      await expect(agent.call('More', context)).rejects.toMatchObject({ code: 'agent_closed' });
      finish();
      expect((await call).stopReason).toBe('shutdown');
      await closed;
      expect(model.requests).toHaveLength(1);
      const other = next({ text: 'It is paid.' });
      expect((await other.agent.call('Pay', context, { id: 'c' })).text).toBe('It is paid.');
      const results = other.model.requests[0]?.messages.flatMap(toolResultsOf) ?? [];
      expect(results.map((result) => textOf([result]))).toEqual(['paid']);
    },
  );

  it('lets a model answer, and runs the tools of that step; an answer that is the last one ends the call', async () => {
    let answer = () => {};
    let ask = () => {};
    const asked = new Promise<void>((resolve) => {
      ask = resolve;
    });
    const last = async () => {
      await new Promise<void>((resolve) => {
        answer = resolve;
        ask();
      });
      return { text: 'All done.' };
    };
    const { first } = processes([last]);
    const { agent } = first('deaf');
    const call = agent.call('Pay', context);
    await asked;
    const closed = agent.close();
    answer();
    expect(await call).toMatchObject({ stopReason: 'completed', text: 'All done.' });
    await closed;
  });

  it.each(['before', 'after'])(
    'does not wait for a pause between retries that begins %s it closes',
    async (when) => {
      let fail = () => {};
      const failing = new Promise<void>((resolve) => {
        fail = resolve;
      });
      const busy = async () => {
        await failing;
        throw new ModelError('Too many requests.', { modelId: 'm', retryable: true, retryAfterMs: 300_000 });
      };
      const { first, next, event } = processes([busy]);
      const { agent } = first('deaf');
      const awaited = event(when === 'before' ? 'model.retrying' : 'model.started');
      const call = agent.call('Pay', context, { id: 'c' });
      if (when === 'before') fail();
      await awaited;
      const closed = agent.close({ drainMs: Number.POSITIVE_INFINITY });
      fail();
      expect((await call).stopReason).toBe('shutdown');
      await closed;
      const other = next({ text: 'It is paid.' });
      expect((await other.agent.call('Pay', context, { id: 'c' })).text).toBe('It is paid.');
    },
  );

  it.each(['a limit', 'a second close'])(
    'stops what does not end, at %s, and says what may have taken effect',
    async (how) => {
      const { first, next, begun } = processes([
        { toolCalls: [PAY.toolCalls[0], PAY.toolCalls[0]] as never },
      ]);
      const { agent } = first('deaf');
      const call = agent.call('Pay', context);
      await begun;
      const closed = agent.close(how === 'a limit' ? { drainMs: 20 } : {});
      if (how === 'a second close') void agent.close({ drainMs: 0 });
      expect((await call).stopReason).toBe('shutdown');
      await closed;
      const other = next({ text: 'I see.' });
      await other.agent.resume(context);
      const seen = other.model.requests[0]?.messages ?? [];
      expect(isPaired(seen)).toBe(true);
      const [begunOne, other2] = seen.flatMap(toolResultsOf).map((result) => textOf([result]));
      expect(begunOne).toContain(
        'shut down before this call finished. The call may or may not have taken effect',
      );
      expect(other2).toContain('before this call could take effect');
    },
  );

  it('refuses at once what waits in line', async () => {
    const { first, begun, finish } = processes([PAY]);
    const { agent } = first('deaf');
    const call = agent.call('Pay', context);
    await begun;
    const waiting = agent.call('Then', context);
    const closed = agent.close();
    await expect(waiting).rejects.toMatchObject({ code: 'agent_closed' });
    finish();
    await Promise.all([call, closed]);
  });
});
