import { InMemorySession, type ModelResponse, RuntimeContext, type SessionStore } from '@x/core';
import { expect, it, onTestFinished, vi } from 'vitest';
import { HarnessAgent } from '../../src/index.js';
import { scratch } from '../support.js';

/** A store whose calls are noted by their names, such as `leases.find`. */
function noted<Part extends object>(part: Part, calls: string[], path = ''): Part {
  return new Proxy(part, {
    get(target, property) {
      const value: unknown = Reflect.get(target, property, target);
      const name = `${path}${String(property)}`;
      if (typeof value === 'object' && value !== null) return noted(value, calls, `${name}.`);
      if (typeof value !== 'function') return value;
      return (...parameters: unknown[]) => {
        calls.push(name);
        return Reflect.apply(value, target, parameters);
      };
    },
  });
}

it('a call that waits for its model costs the store one beat of its process a second at most', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const calls: string[] = [];
  const session: SessionStore = noted(new InMemorySession(), calls);
  let answer: (response: ModelResponse) => void = () => {};
  let ask = () => {};
  const asked = new Promise<void>((resolve) => {
    ask = resolve;
  });
  const generate = () => {
    ask();
    return new Promise<ModelResponse>((resolve) => {
      answer = resolve;
    });
  };
  const agent = HarnessAgent.builder()
    .model({ id: 'slow', generate })
    .workspace(scratch())
    .session(session)
    .build();
  const call = agent.call('Hi', RuntimeContext.of({ sessionId: 's' }));
  await asked;
  calls.length = 0;
  await vi.advanceTimersByTimeAsync(20_000);
  expect(new Set(calls)).toEqual(new Set(['leases.processes.beat']));
  expect(calls.length).toBeLessThanOrEqual(45);
  vi.useRealTimers();
  answer({ content: [{ type: 'text', text: 'ok' }], finishReason: 'stop' });
  expect((await call).text).toBe('ok');
  await agent.close();
});
