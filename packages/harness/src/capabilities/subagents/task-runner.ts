import type { ApprovalDecision, JsonObject, RuntimeContext } from '@x/core';

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
  /** Decisions on calls of the subagent, by approval id: the order goes on with these. */
  readonly decisions?: Readonly<Record<string, ApprovalDecision>> | undefined;
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
  /**
   * Takes no more orders, then has those that run here stopped, and resolves when none runs any more: an order that is given
   * back must not come here again.
   */
  close(stopRunning: () => Promise<void>): Promise<void>;
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
    if (this.#execute === undefined) throw new Error('The agent is closed.');
    const running: Promise<unknown> = this.#execute(order, runtime).finally(() =>
      this.#running.delete(running),
    );
    this.#running.add(running);
  }

  async close(stopRunning: () => Promise<void>): Promise<void> {
    this.#execute = undefined;
    await stopRunning();
    while (this.#running.size > 0) await Promise.all(this.#running);
  }
}
