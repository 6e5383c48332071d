import {
  InvalidInputError,
  type JsonObject,
  type JsonValue,
  type Message,
  type StandardSchema,
  textOf,
  userMessage,
} from '@x/core';
import { errorText } from '@x/core/internal';
import { compileSchema, type ResponseFormat, type ToolDefinition } from '@x/core/messages';
import { OutputError } from '../errors/output-error.js';
import { closeObjects } from './close-objects.js';

/**
 * The schema of an answer: zod, another Standard Schema that converts to JSON Schema, or plain JSON Schema. It must
 * describe an object.
 */
export type OutputSchema<Output> = StandardSchema<Output> | JsonObject;

const NAME = 'final_answer';

/** The answer that one call requests: its schema, and the state of validation. */
export class RequestedOutput {
  /** Response format for models with `structuredOutput`. */
  readonly responseFormat: ResponseFormat;
  /** Tool for all other models. Its input is the answer. */
  readonly tool: ToolDefinition;
  readonly #parse: (value: JsonValue) => unknown;
  readonly #maxRepairs: number;
  #rejected = 0;
  #value: unknown;

  /**
   * @param taken Names of other tools, which the answer's tool must not use.
   * @param maxRepairs Number of invalid answers to send back before the call fails.
   * @throws {InvalidInputError} if the schema cannot be converted to JSON Schema or does not describe an object.
   */
  constructor(output: OutputSchema<unknown>, taken: ReadonlySet<string>, maxRepairs: number) {
    const { jsonSchema, parse } = compileSchema(output, {
      owner: 'call options',
      path: 'output',
      value: 'answer',
    });
    if (jsonSchema.type !== 'object') {
      const message =
        'must describe an object, because providers reject other types: wrap the value in an object';
      throw new InvalidInputError('call options', [{ path: 'output', message }]);
    }
    const schema = closeObjects(jsonSchema);
    let name = NAME;
    for (let number = 2; taken.has(name); number++) name = `${NAME}_${number}`;
    this.responseFormat = { type: 'json', schema, name: NAME };
    this.tool = {
      name,
      description:
        'Returns your final answer. Call it once, alone, when everything else is done. Its input is the whole answer.',
      inputSchema: schema,
    };
    this.#parse = parse;
    this.#maxRepairs = maxRepairs;
  }

  /** True if an answer was rejected. */
  get isRejected(): boolean {
    return this.#rejected > 0;
  }

  /** The last valid answer. */
  get value(): unknown {
    return this.#value;
  }

  /** @throws {InvalidInputError} if the answer does not match the schema. */
  async read(message: Message | undefined): Promise<void> {
    this.#value = await this.#parse(parseAnswer(message === undefined ? '' : textOf(message)));
  }

  /**
   * Validates an answer. Returns `undefined` if it is valid; otherwise the reason, and a message that explains it to
   * the model.
   *
   * @param byTool True if the model was asked to answer by a tool call.
   * @throws {OutputError} if the answer is invalid and no repairs are left.
   */
  async refusalOf(message: Message | undefined, byTool: boolean) {
    try {
      await this.read(message);
      return undefined;
    } catch (error) {
      if (!InvalidInputError.isInstance(error)) throw error;
      this.#rejected++;
      if (this.#rejected > this.#maxRepairs) {
        throw new OutputError(message === undefined ? '' : textOf(message), this.#rejected, error);
      }
      const how = byTool
        ? `Call ${this.tool.name} with the corrected answer.`
        : 'Answer again, with the corrected JSON and nothing else.';
      const complaint = userMessage(`Your answer cannot be used. ${error.message} ${how}`, {
        kind: 'synthetic',
      });
      return { attempt: this.#rejected, error: error.message, complaint };
    }
  }
}

/**
 * Returns the content of a Markdown fence, or the text itself if it is not fenced. Scans without a regular expression,
 * which could backtrack on many blank lines.
 */
function unfenced(text: string): string {
  const begin = text.indexOf('\n');
  const isFence = text.startsWith('```') && text.endsWith('```') && begin !== -1 && begin < text.length - 3;
  return isFence && /^[a-z]*$/i.test(text.slice(3, begin).trim()) ? text.slice(begin, -3) : text;
}

/**
 * Parses the JSON of an answer, with or without a Markdown fence.
 *
 * @throws {InvalidInputError} if the text is not valid JSON.
 */
function parseAnswer(text: string): JsonValue {
  try {
    return JSON.parse(unfenced(text.trim())) as JsonValue;
  } catch (cause) {
    const message = `is not valid JSON: ${errorText(cause)}`;
    throw new InvalidInputError('answer', [{ path: '', message }], { cause });
  }
}
