import { InvalidInputError, type Message, textOf, userMessage } from '@x/core';
import { OutputError } from '../errors/output-error.js';
import type { OutputFormat } from './output-format.js';

/** The verdict on an answer: taken, or refused with a message for the model. */
export type Judgment =
  | { readonly taken: true }
  | { readonly taken: false; readonly attempt: number; readonly error: string; readonly complaint: Message };

/** The answer that one call asks for: its form, and what has been given so far. */
export class RequestedOutput {
  readonly format: OutputFormat;
  readonly #maxRepairs: number;
  #rejected = 0;
  #value: unknown;

  /** @param maxRepairs Answers that are sent back before the call fails. */
  constructor(format: OutputFormat, maxRepairs: number) {
    this.format = format;
    this.#maxRepairs = maxRepairs;
  }

  /** Whether an answer was refused. */
  get isRejected(): boolean {
    return this.#rejected > 0;
  }

  /** The last answer that was taken. */
  get value(): unknown {
    return this.#value;
  }

  /**
   * Reads an answer.
   *
   * @param byTool How the model was asked to give it.
   * @throws {OutputError} when it is bad and has been sent back often enough.
   */
  async judge(message: Message | undefined, byTool: boolean): Promise<Judgment> {
    const text = message === undefined ? '' : textOf(message);
    try {
      this.#value = await this.format.read(text);
      return { taken: true };
    } catch (error) {
      if (!InvalidInputError.isInstance(error)) throw error;
      this.#rejected++;
      if (this.#rejected > this.#maxRepairs) throw new OutputError(text, this.#rejected, error);
      const how = byTool
        ? `Call ${this.format.tool.name} with the corrected answer.`
        : 'Answer again, with the corrected JSON and nothing else.';
      const complaint = userMessage(`Your answer cannot be used. ${error.message} ${how}`, {
        kind: 'synthetic',
      });
      return { taken: false, attempt: this.#rejected, error: error.message, complaint };
    }
  }
}
