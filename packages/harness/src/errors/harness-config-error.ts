import { XError } from '@x/core';
import type { Issue } from '@x/core/internal';

/**
 * The parts of an agent do not fit together, or one of them is missing or malformed.
 *
 * @code invalid_config The agent cannot be built. Do: Correct what `issues` name, each with its method or key.
 */
export class HarnessConfigError extends XError {
  static override readonly brand = 'HarnessConfigError';
  /** The problems, each with its builder method or configuration key. */
  readonly issues: readonly Issue[];

  constructor(issues: readonly Issue[], options: { cause?: unknown } = {}) {
    const list = issues.map((issue) => `${issue.path}: ${issue.message}`).join('; ');
    super('invalid_config', `The agent cannot be built: ${list}`, {
      cause: options.cause,
    });
    this.issues = issues;
  }
}
