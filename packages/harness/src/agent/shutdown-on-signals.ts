import { constants } from 'node:os';
import { withinLimit } from '@x/core/internal';

/** Milliseconds that storing stopped calls may take. */
const STORE_MS = 4_000;

/** Signals that ask a process to end. Defined here, so that users of our types do not need the Node.js types. */
type EndSignal = 'SIGTERM' | 'SIGINT' | 'SIGHUP' | 'SIGQUIT' | 'SIGBREAK' | 'SIGUSR1' | 'SIGUSR2';

/** The part of an agent that a shutdown uses. */
interface Closable {
  close(options: { readonly drainMs: number }): Promise<void>;
}

/** The part of a process that a shutdown uses; `process` is one. */
export interface SignalSource {
  on(signal: EndSignal, listener: (signal: EndSignal) => void): unknown;
  off(signal: EndSignal, listener: (signal: EndSignal) => void): unknown;
  exit(code: number): unknown;
  emitWarning(message: string): void;
}

export interface ShutdownOptions {
  /** Default `SIGTERM` and `SIGINT`. */
  readonly signals?: readonly EndSignal[] | undefined;
  /** Milliseconds that running steps, with their tools, may take to finish. Default 25 000; 0 stops them at once. */
  readonly drainMs?: number | undefined;
  /**
   * Milliseconds after which the process ends in any case; 0 for no limit. Default: `drainMs` plus 4 000, to store stopped calls. Keep it
   * below the time after which the process is killed: on Kubernetes 30 s, `terminationGracePeriodSeconds`.
   */
  readonly timeoutMs?: number | undefined;
  /** Default: this process. */
  readonly process?: SignalSource | undefined;
}

/**
 * Shuts down gracefully at a signal. Running calls finish their current step and are stored, so that any other process can resume them; new
 * calls are refused with `agent_closed`. The process then exits with 128 plus the signal's number, as shells expect, or with 1 if an agent
 * could not be closed in time. A second signal exits at once, except SIGHUP.
 *
 * A library must not install signal handlers by itself: call this in your program, once, for all its agents.
 *
 * @example
 * ```ts
 * import { HarnessAgent, shutdownOnSignals } from '@x/harness';
 *
 * const agent = HarnessAgent.builder().model(model).build();
 * const release = shutdownOnSignals(agent);
 * // In a test, remove the handlers:
 * release();
 * ```
 * @returns a function that removes the handlers.
 */
export function shutdownOnSignals(
  agents: Closable | readonly Closable[],
  options: ShutdownOptions = {},
): () => void {
  const { signals = ['SIGTERM', 'SIGINT'], drainMs = 25_000, process: target = process } = options;
  const { timeoutMs = drainMs + STORE_MS } = options;
  const all: readonly Closable[] = 'close' in agents ? [agents] : agents;
  let closing = false;
  const onSignal = (signal: EndSignal) => {
    const code = 128 + constants.signals[signal];
    if (closing) {
      // A terminal that is closed sends SIGHUP twice: once from its shell, and once from the kernel.
      if (signal !== 'SIGHUP') target.exit(code);
      return;
    }
    closing = true;
    const closed = withinLimit(['The shutdown', 'timeoutMs', timeoutMs], () => closeAll(all, drainMs));
    closed
      .catch((error: unknown) => [error])
      .then((errors) => {
        for (const error of errors) target.emitWarning(`An agent could not be closed: ${String(error)}`);
        target.exit(errors.length > 0 ? 1 : code);
      });
  };
  for (const signal of signals) target.on(signal, onSignal);
  return () => {
    for (const signal of signals) target.off(signal, onSignal);
  };
}

/** Closes all agents, and collects the errors of those that fail. */
async function closeAll(agents: readonly Closable[], drainMs: number): Promise<readonly unknown[]> {
  const results = await Promise.allSettled(agents.map((agent) => agent.close({ drainMs })));
  return results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
}
