import { XError } from './x-error.js';

/** One problem with a value: its path and a message. */
export interface Issue {
  /** Path in the value, for example `context[3].content[0].text`; empty for the value itself. */
  readonly path: string;
  readonly message: string;
}

/**
 * A value that does not have the shape it must have: a configuration, a stored state, an argument.
 *
 * @code invalid_input A value has the wrong shape: a configuration, an argument, a request. Do: Correct what `issues` name, each with its path.
 */
export class InvalidInputError extends XError {
  static override readonly brand = 'InvalidInputError';
  /** Name of the invalid value, for example `AgentState`. */
  readonly subject: string;
  readonly issues: readonly Issue[];

  /** @param options `isFromClient`: a client sent the value, and may read what is wrong with it. Default false. */
  constructor(
    subject: string,
    issues: readonly Issue[],
    options: { cause?: unknown; remedy?: string | undefined; isFromClient?: boolean | undefined } = {},
  ) {
    const list = issues.map((issue) => (issue.path ? `${issue.path}: ${issue.message}` : issue.message));
    const remedy = options.remedy ? ` ${options.remedy}` : '';
    const said = list.join('; ').replace(/[.?!]?$/, (end) => end || '.');
    const message = `Invalid ${subject}: ${said}${remedy}`;
    const { cause, isFromClient } = options;
    super('invalid_input', message, { cause, clientMessage: isFromClient ? message : undefined });
    this.subject = subject;
    this.issues = issues;
  }
}
