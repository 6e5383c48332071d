import { InvalidInputError, XError } from '@x/core';
import { errorText, type Issue } from '@x/core/internal';

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

/** Lists what is wrong with the part at a path. */
export function issuesOf(error: unknown, path: string): readonly Issue[] {
  if (HarnessConfigError.isInstance(error)) return error.issues;
  if (InvalidInputError.isInstance(error)) {
    return error.issues.map((issue) => ({ ...issue, path: [path, issue.path].filter(Boolean).join('.') }));
  }
  return [{ path, message: errorText(error) }];
}
