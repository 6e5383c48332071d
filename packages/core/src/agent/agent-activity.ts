/** Events around a call that are not part of its conversation. Durations are in milliseconds. */
export type AgentActivityBody =
  /** A call, or a command such as `compact()`, was received. */
  | { readonly type: 'call.queued' }
  /** The session is free in this process, and the call is one of the running calls. */
  | { readonly type: 'call.placed'; readonly waitedMs: number }
  /** Another process uses the session. The call gives up its slot, and gets another one (`call.placed`) before it continues. */
  | { readonly type: 'turn.awaited' }
  /** The call has the lease on its session. */
  | { readonly type: 'turn.taken'; readonly waitedMs: number }
  /** The call took over the session's lease from a dead process. */
  | { readonly type: 'turn.taken_over' }
  /** The call lost the session's lease to another process. */
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
      /** How far the call got: waiting in the queue, in a slot, or with its session open. */
      readonly stage: 'queued' | 'placed' | 'begun';
      /** The error if it failed, or the reason if it was rejected. */
      readonly error?: unknown;
    };

/** An event around a call, with its ids: see {@link Capability.monitor}. */
export type AgentActivity = AgentActivityBody & {
  readonly agentId: string;
  readonly sessionId: string;
  /** Id of the call, as in its {@link AgentEvent}s. */
  readonly callId: string;
  readonly kind: 'call' | 'command';
};
