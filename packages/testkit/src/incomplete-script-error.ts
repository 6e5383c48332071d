import { XError } from '@x/core';

/** A scripted model was asked fewer times than its script says. */
export class IncompleteScriptError extends XError {
  static override readonly brand = 'IncompleteScriptError';
  readonly modelId: string;
  /** Replies that nobody asked for. */
  readonly remaining: number;

  constructor(details: { modelId: string; remaining: number; left: string; calls: number }) {
    const { modelId, remaining, left, calls } = details;
    super(
      'incomplete_script',
      `Model ${modelId} was called ${calls} time${calls === 1 ? '' : 's'} and ${remaining} of its scripted replies ` +
        `were never asked for (${left}). Remove them, or find out why the calls were not made.`,
    );
    this.modelId = modelId;
    this.remaining = remaining;
  }
}
