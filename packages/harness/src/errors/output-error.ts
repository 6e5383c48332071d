import { type InvalidInputError, XError } from '@x/core';
import type { Issue } from '@x/core/internal';

/**
 * The model gave no valid answer of the requested form, even after all repairs.
 *
 * @code output_invalid The model gave no valid answer, even after repairs. The conversation is stored. Do: Raise `outputRepairs`,
 * describe the fields in the schema, or use a stronger model.
 */
export class OutputError extends XError {
  static override readonly brand = 'OutputError';
  /** The last answer. */
  readonly text: string;
  /** Number of rejected answers. */
  readonly attempts: number;
  /** The problems of the last answer. */
  readonly issues: readonly Issue[];

  constructor(text: string, attempts: number, cause: InvalidInputError) {
    super(
      'output_invalid',
      `The model gave no valid answer in ${attempts} attempts. ${cause.message} The conversation is stored; allow more ` +
        'repairs (outputRepairs), describe the fields in the schema, or use a stronger model.',
      { cause, clientMessage: 'The model gave no valid answer. Try again.' },
    );
    this.text = text;
    this.attempts = attempts;
    this.issues = cause.issues;
  }
}
