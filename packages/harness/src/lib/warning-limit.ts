import type { AgentEvent } from '@x/core';

type Warning = Extract<AgentEvent, { readonly type: 'warning' }>;

/** Maximum number of warnings per source in one window. */
const MOST = 10;
const WINDOW_MS = 60_000;

interface Window {
  readonly endsAt: number;
  count: number;
}

/**
 * Limits warnings to the first few per source and minute, and counts the rest. For example, a full store warns with
 * every call.
 */
export class WarningLimit {
  readonly #windows = new Map<string, Window>();
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /**
   * Returns the warning, with the number of warnings omitted before it. Returns `undefined` if this warning is omitted.
   */
  pass(warning: Warning): Warning | undefined {
    const now = this.#now();
    const last = this.#windows.get(warning.source);
    const isOver = last === undefined || now >= last.endsAt;
    const window = isOver ? { endsAt: now + WINDOW_MS, count: 0 } : last;
    this.#windows.set(warning.source, window);
    if (++window.count > MOST) return undefined;
    const omitted = isOver ? (last?.count ?? 0) - MOST : 0;
    if (omitted <= 0) return warning;
    return {
      ...warning,
      message: `${warning.message} (${omitted} more warnings of ${warning.source} were left out.)`,
    };
  }
}
