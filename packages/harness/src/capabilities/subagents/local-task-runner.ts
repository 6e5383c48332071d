import type { RuntimeContext } from '@x/core';
import type { ExecuteTask, TaskOrder, TaskRunner } from './task-runner.js';

/** Runs subagents in this process, each at once. */
export class LocalTaskRunner implements TaskRunner {
  readonly durable = false;
  readonly #running = new Set<Promise<unknown>>();
  #execute: ExecuteTask | undefined;

  attach(_agentName: string, execute: ExecuteTask): void {
    this.#execute = execute;
  }

  async submit(order: TaskOrder, runtime: RuntimeContext): Promise<void> {
    const running = Promise.resolve(this.#execute?.(order, runtime)).finally(() =>
      this.#running.delete(running),
    );
    this.#running.add(running);
  }

  async close(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }
}
