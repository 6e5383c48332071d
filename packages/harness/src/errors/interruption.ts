type Kind = 'interrupted' | 'shutdown' | 'timed_out';

const TEXTS: Readonly<Record<Kind, string>> = {
  interrupted: 'The call was interrupted.',
  shutdown: 'The agent is shutting down.',
  timed_out: 'The call took longer than limits.callMs or limits.readerMs allows.',
};

const STOPPED_BY: Readonly<Record<Kind, string>> = {
  interrupted: 'the user',
  shutdown: 'the end of the agent',
  timed_out: 'the time limit of the call',
};

/** The reason why a running call stops: its user, a time limit, or a closing agent. Its signal aborts with this reason. */
export class Interruption extends Error {
  readonly kind: Kind;
  /** Who or what stopped the call, for its commands. */
  readonly stoppedBy: string;

  constructor(kind: Kind) {
    super(TEXTS[kind]);
    this.name = 'AbortError';
    this.kind = kind;
    this.stoppedBy = STOPPED_BY[kind];
  }
}
