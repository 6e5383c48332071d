type Kind = 'interrupted' | 'shutdown' | 'timed_out';

const TEXTS: Readonly<Record<Kind, string>> = {
  interrupted: 'The call was interrupted.',
  shutdown: 'The agent is shutting down.',
  timed_out: 'The call took longer than limits.callMs or limits.readerMs allows.',
};

/** The reason why a running call stops: its user, a time limit, or a closing agent. Its signal aborts with this reason. */
export class Interruption extends Error {
  readonly kind: Kind;

  constructor(kind: Kind) {
    super(TEXTS[kind]);
    this.name = 'AbortError';
    this.kind = kind;
  }
}
