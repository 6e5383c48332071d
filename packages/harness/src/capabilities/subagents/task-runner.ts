import type { ApprovalDecision } from '@x/core';

/** Work for a subagent, in a form that can travel to another process. */
export interface TaskOrder {
  /** The subagent's session, as tools name it. */
  readonly taskId: string;
  /** The session that gave it: `SessionKey.toString()`. */
  readonly owner: string;
  readonly subagent: string;
  readonly message: string;
  /** Names the order: one that is delivered twice is carried out once. */
  readonly callId: string;
  /** Decisions on calls of the subagent, by approval id: the order goes on with these. */
  readonly decisions?: Readonly<Record<string, ApprovalDecision>> | undefined;
}

/** The end of an order: final, or to be carried out again by another process because this one stops. */
export type TaskEnd = 'ended' | 'again';

/** Carries out an order in this process. Never rejects. */
export type ExecuteTask = (order: TaskOrder) => Promise<TaskEnd>;

/** A queue that carries orders to any free process with the same agent, and keeps them when one dies. */
export interface TaskRunner {
  /** Told once how this agent carries out orders, before any is submitted. */
  attach(agentName: string, execute: ExecuteTask): void;
  /** Resolves once the order will be carried out. */
  submit(order: TaskOrder): Promise<void>;
  /**
   * Takes no more orders, then has those that run here stopped, and resolves when none runs any more: an order that is given
   * back must not come here again.
   */
  close(stopRunning: () => Promise<void>): Promise<void>;
}
