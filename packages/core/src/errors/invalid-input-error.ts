import { headOf, printable, tailOf } from '../lib/text.js';
import { XError } from './x-error.js';

/** One problem with a value: its path and a message. */
export interface Issue {
  /** Path in the value, for example `context[3].content[0].text`; empty for the value itself. */
  readonly path: string;
  readonly message: string;
}

/**
 * A value has the wrong shape: a configuration, a stored state or an argument.
 *
 * @code invalid_input A value has the wrong shape: a configuration, an argument, a request. Do: Correct the fields listed in `issues`.
 */
export class InvalidInputError extends XError {
  static override readonly brand = 'InvalidInputError';
  /** Name of the invalid value, for example `AgentState`. */
  readonly subject: string;
  readonly issues: readonly Issue[];

  /** @param options `isFromClient`: a client sent the value, and may see the details. Default false. */
  constructor(
    subject: string,
    issues: readonly Issue[],
    options: { cause?: unknown; remedy?: string | undefined; isFromClient?: boolean | undefined } = {},
  ) {
    const shown = readableIssues(issues);
    const list = shown.map(({ path, message }) => (path ? `${path}: ${message}` : message));
    const remedy = options.remedy ? ` ${options.remedy}` : '';
    const said = list.join('; ').replace(/[.?!]?$/, (end) => end || '.');
    const message = `Invalid ${subject}: ${said}${remedy}`;
    const { cause, isFromClient } = options;
    super('invalid_input', message, { cause, clientMessage: isFromClient ? message : undefined });
    this.subject = subject;
    this.issues = shown;
  }
}

/** Maximum lengths in UTF-16 units. A path may contain a key, and a message a value, of any length. */
const MOST_PATH = 200;
const MOST_MESSAGE = 2_000;
/** Shortens the paths and messages of issues, and escapes invisible characters, which could forge or hide text in a log. */
export function readableIssues(issues: readonly Issue[]): readonly Issue[] {
  return issues.map(({ path, message }) => ({
    path: readable(path, MOST_PATH).replaceAll(/\s/g, ' '),
    message: readable(message, MOST_MESSAGE),
  }));
}

function readable(text: string, most: number): string {
  const isLong = text.length > most;
  const short = isLong ? `${headOf(text, most / 2)} … ${tailOf(text, most / 2)}` : text;
  return printable(short);
}
