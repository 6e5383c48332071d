/** Events around a call that are not part of its conversation. Durations are in milliseconds. */
export type AgentActivityBody =
  /** A call, or a command such as `compact()`, was received. */
  | { readonly type: 'call.queued' }
  /** Its session is free in this process, and it has a place among the running calls. */
  | { readonly type: 'call.placed'; readonly waitedMs: number }
  /** Another process has its session: it gave its place to others, and gets another one, with `call.placed`, before it continues. */
  | { readonly type: 'turn.awaited' }
  /** The call holds the turn of its session across all processes. */
  | { readonly type: 'turn.taken'; readonly waitedMs: number }
  /** The call took over the session's turn from a dead process. */
  | { readonly type: 'turn.taken_over' }
  /** The call lost the session's turn to another process. */
  | { readonly type: 'turn.lost' }
  /** A request to the session store or the log ended. */
  | {
      readonly type: 'store.request';
      /** For example `load`, `commit` or `log.append`. */
      readonly operation: string;
      readonly durationMs: number;
      /** `ok`, `held` if another holder has the lease, or the code of the error. */
      readonly outcome: string;
    }
  /** The call ended. */
  | {
      readonly type: 'call.ended';
      /** The stage it reached: in the queue, with a place, or with its session open. */
      readonly stage: 'queued' | 'placed' | 'begun';
      /** The error if it failed, or the reason if it was refused. */
      readonly error?: unknown;
    };

/** An event around a call, with its ids: see {@link Capability.monitor}. */
export type AgentActivity = AgentActivityBody & {
  readonly agentId: string;
  readonly sessionId: string;
  /** As in the events of the call. */
  readonly callId: string;
  readonly kind: 'call' | 'command';
};
