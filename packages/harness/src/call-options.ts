import { type JsonObject, type Message, parseWith, type StandardSchema, userMessage } from '@x/core';
import { z } from 'zod';
import type { Decisions } from './decision.js';
import { type OutputSchema, outputFormat } from './output/output-format.js';
import { RequestedOutput } from './output/requested-output.js';

/** What a user may say: text, a message, or several. */
export type CallInput = string | Message | readonly Message[];

export interface CallOptions {
  /** Interrupts the call when aborted, as `agent.interrupt` does. */
  readonly signal?: AbortSignal;
  /**
   * What a human says to the tool calls that wait for them, by the id of the call. Those left out go on waiting, unless
   * something new is said: then they are denied.
   */
  readonly decisions?: Decisions;
  /**
   * The form that the answer must have: zod, another Standard Schema that gives JSON Schema, or JSON Schema. A model with
   * `structuredOutput` is given it as its response format, any other as the tool `final_answer`.
   */
  readonly output?: StandardSchema | JsonObject;
  /** How often the model may correct an answer that is not valid. Default 2. */
  readonly outputRepairs?: number;
}

/** {@link CallOptions} of a call whose answer has the type `Output`. */
export type OutputOptions<Output> = CallOptions & { readonly output: OutputSchema<Output> };

const repairsSchema = z.int().min(0).default(2);

export function toMessages(input: CallInput): readonly Message[] {
  if (typeof input === 'string') return [userMessage(input)];
  return 'role' in input ? [input] : input;
}

/**
 * The answer that the options ask for, if they ask for a form.
 *
 * @throws {InvalidInputError} when it cannot be told to a model.
 */
export function requestedOutput(
  { output, outputRepairs }: CallOptions,
  toolNames: ReadonlySet<string>,
): RequestedOutput | undefined {
  const repairs = parseWith(repairsSchema, outputRepairs, 'outputRepairs');
  return output === undefined ? undefined : new RequestedOutput(outputFormat(output, toolNames), repairs);
}
