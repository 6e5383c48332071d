/** What happens around a call, and is not part of its conversation. Milliseconds are those that it took. */
export type AgentActivityBody =
  /** A call, or a command such as `compact()`, came in. */
  | { readonly type: 'call.queued' }
  /** Its session is free in this process, and it has a place among the running calls. */
  | { readonly type: 'call.placed'; readonly waitedMs: number }
  /** Another process has its session: it gave its place to others, and gets another one, with `call.placed`, before it continues. */
  | { readonly type: 'turn.awaited' }
  /** It has the turn of its session among all processes. */
  | { readonly type: 'turn.taken'; readonly waitedMs: number }
  /** It took the turn over from a process that is dead. */
  | { readonly type: 'turn.taken_over' }
  /** Another process has the turn by now. */
  | { readonly type: 'turn.lost' }
  /** A request to the session store or the log ended. */
  | {
      readonly type: 'store.request';
      /** As `load`, `commit`, `log.append`. */
      readonly operation: string;
      readonly durationMs: number;
      /** `ok`; `held` for a lease of another holder; else the code of the error. */
      readonly outcome: string;
    }
  /** It is over. */
  | {
      readonly type: 'call.ended';
      /** How far it came: in line, with a place, or with its session open. */
      readonly stage: 'queued' | 'placed' | 'begun';
      /** What it failed with; of one that was refused, the reason. */
      readonly error?: unknown;
    };

/** What happens around a call: see {@link Capability.monitor}. */
export type AgentActivity = AgentActivityBody & {
  readonly agentId: string;
  readonly sessionId: string;
  /** As in the events of the call. */
  readonly callId: string;
  readonly kind: 'call' | 'command';
};
