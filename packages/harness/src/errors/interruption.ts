/** Why a running call is being stopped: by its user, or because the agent closes. The abort reason of its signal. */
export class Interruption extends Error {
  readonly kind: 'interrupted' | 'shutdown';

  constructor(kind: 'interrupted' | 'shutdown') {
    super(kind === 'shutdown' ? 'The agent is shutting down.' : 'The call was interrupted.');
    this.name = 'AbortError';
    this.kind = kind;
  }
}
