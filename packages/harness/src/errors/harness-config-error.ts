import { InvalidInputError, XError } from '@x/core';
import { errorText, type Issue, readableIssues } from '@x/core/internal';

/**
 * The agent cannot be built: a part is missing or invalid, or parts do not fit together.
 *
 * @code invalid_config The agent cannot be built. Do: Correct the problems in `issues`. Each names its method or key.
 */
export class HarnessConfigError extends XError {
  static override readonly brand = 'HarnessConfigError';
  /** The problems, each with its builder method or configuration key. */
  readonly issues: readonly Issue[];

  constructor(issues: readonly Issue[], options: { cause?: unknown } = {}) {
    const shown = readableIssues(issues);
    const list = shown.map((issue) => `${issue.path}: ${issue.message}`).join('; ');
    super('invalid_config', `The agent cannot be built: ${list}`, {
      cause: options.cause,
    });
    this.issues = shown;
  }
}

/** Lists the problems of the part at a path. */
export function issuesOf(error: unknown, path: string): readonly Issue[] {
  if (HarnessConfigError.isInstance(error)) return error.issues;
  if (InvalidInputError.isInstance(error)) {
    return error.issues.map((issue) => ({ ...issue, path: [path, issue.path].filter(Boolean).join('.') }));
  }
  return [{ path, message: errorText(error) }];
}
