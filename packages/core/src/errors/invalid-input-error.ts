import { XError } from './x-error.js';

/** One thing wrong with a value: where, and what. */
export interface Issue {
  /** Path in the value, for example `context[3].content[0].text`; empty for the value itself. */
  readonly path: string;
  readonly message: string;
}

/** A value that does not have the shape it must have: a configuration, a stored state, an argument. */
export class InvalidInputError extends XError {
  static override readonly brand = 'InvalidInputError';
  /** The subject that was being read, for example `AgentState`. */
  readonly subject: string;
  readonly issues: readonly Issue[];

  constructor(
    subject: string,
    issues: readonly Issue[],
    options: { cause?: unknown; remedy?: string | undefined } = {},
  ) {
    const list = issues.map((issue) => (issue.path ? `${issue.path}: ${issue.message}` : issue.message));
    const remedy = options.remedy ? ` ${options.remedy}` : '';
    const said = list.join('; ').replace(/[.?!]?$/, (end) => end || '.');
    super('invalid_input', `Invalid ${subject}: ${said}${remedy}`, { cause: options.cause });
    this.subject = subject;
    this.issues = issues;
  }
}
