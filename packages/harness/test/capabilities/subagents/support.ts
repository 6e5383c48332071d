import {
  type Capability,
  type Message,
  RuntimeContext,
  type ToolResultBlock,
  textOf,
  toolResultsOf,
} from '@x/core';
import type { Clock } from '@x/core/internal';
import type { ScriptedModel } from '@x/testkit';
import { HarnessAgent } from '../../../src/agent/harness-agent.js';
import { scratch } from '../../support.js';

export const context = RuntimeContext.of({ userId: 'alice', sessionId: 's-1' });

/** A model call that answers when it is told to, and rejects when it is aborted. */
export function held() {
  let release: (text: string) => void = () => {};
  let begun: () => void = () => {};
  const released = new Promise<string>((resolve) => {
    release = resolve;
  });
  const started = new Promise<void>((resolve) => {
    begun = resolve;
  });
  return {
    started,
    release: (text: string) => release(text),
    reply: async () => {
      begun();
      return { text: await released };
    },
  };
}

export function parentWith(model: ScriptedModel, ...capabilities: readonly Capability[]) {
  return HarnessAgent.builder()
    .name('lead')
    .model(model)
    .workspace(scratch())
    .settings({ retryDelayMs: 0 })
    .use(...capabilities);
}

/** The results of one tool in a list of messages, as text. */
export function resultsOf(messages: readonly Message[], tool: string): readonly string[] {
  return blocksOf(messages, tool).map((block) => textOf([block]));
}

export function blocksOf(messages: readonly Message[], tool: string): readonly ToolResultBlock[] {
  return messages.flatMap((message) => toolResultsOf(message)).filter((block) => block.toolName === tool);
}

/** The tasks that a view announces, as text; empty when it announces none. */
export function announced(messages: readonly Message[]): string {
  return messages
    .filter((message) => message.id === 'finished-tasks')
    .map((message) => textOf(message))
    .join('\n');
}

export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 5));
}

/** Time that passes only when a test says so. */
export class TestClock implements Clock {
  #now = Date.parse('2026-01-01T00:00:00Z');
  #sleepers: { readonly at: number; readonly wake: () => void }[] = [];

  get sleeping(): number {
    return this.#sleepers.length;
  }

  now(): number {
    return this.#now;
  }

  sleep(ms: number, { signal }: { readonly signal?: AbortSignal | undefined } = {}): Promise<void> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
      this.#sleepers.push({ at: this.#now + ms, wake: resolve });
    });
  }

  pass(ms: number): void {
    this.#now += ms;
    const due = this.#sleepers.filter(({ at }) => at <= this.#now);
    this.#sleepers = this.#sleepers.filter(({ at }) => at > this.#now);
    for (const { wake } of due) wake();
  }
}
