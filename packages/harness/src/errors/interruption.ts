type Kind = 'interrupted' | 'shutdown' | 'timed_out';

const TEXTS: Readonly<Record<Kind, string>> = {
  interrupted: 'The call was interrupted.',
  shutdown: 'The agent is shutting down.',
  timed_out: 'The call took longer than limits.callMs or limits.readerMs allows.',
};

/** The reason for stopping a running call: its user, its time, or that the agent closes. The abort reason of its signal. */
export class Interruption extends Error {
  readonly kind: Kind;

  constructor(kind: Kind) {
    super(TEXTS[kind]);
    this.name = 'AbortError';
    this.kind = kind;
  }
}
