import type { JsonObject, RuntimeContext } from '@x/core';

/** Work for a subagent, in a form that can travel to another process. */
export interface TaskOrder {
  readonly taskId: string;
  /** The session that gave it: `SessionKey.toString()`. */
  readonly owner: string;
  readonly agentId: string;
  readonly subagent: string;
  readonly message: string;
  /** Limits of the parent, which hold for the subagent too. */
  readonly inherited: JsonObject;
}

/** The end of an order: final, or to be carried out again by another process because this one stops. */
export type TaskEnd = 'ended' | 'again';

/** Carries out an order in this process. Never rejects. `runtime` is there where the order was given in this process. */
export type ExecuteTask = (order: TaskOrder, runtime?: RuntimeContext) => Promise<TaskEnd>;

/** A place where subagents run: this process, or any free worker. */
export interface TaskRunner {
  /** Orders may be carried out by another process, and are kept when this one dies. */
  readonly durable: boolean;
  /** Told once how this agent carries out orders, before any is submitted. */
  attach(agentName: string, execute: ExecuteTask): void;
  /** Resolves once the order will be carried out. */
  submit(order: TaskOrder, runtime: RuntimeContext): Promise<void>;
  /** Takes no more orders, and resolves when none runs here. The agent has told running ones to stop. */
  close(): Promise<void>;
}

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
