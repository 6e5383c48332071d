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

/** The form of an answer: zod, another Standard Schema that gives JSON Schema, or plain JSON Schema. It describes an object. */
export type OutputSchema<Output> = StandardSchema<Output> | JsonObject;

const NAME = 'final_answer';

/** The answer that one call asks for: its form, and what has been given so far. */
export class RequestedOutput {
  /** For models with `structuredOutput`. */
  readonly responseFormat: ResponseFormat;
  /** For all others: the answer is the input of this tool. */
  readonly tool: ToolDefinition;
  readonly #parse: (value: JsonValue) => unknown;
  readonly #maxRepairs: number;
  #rejected = 0;
  #value: unknown;

  /**
   * @param taken Names of tools, which the answer's tool must not have.
   * @param maxRepairs Answers that are sent back before the call fails.
   * @throws {InvalidInputError} when the schema cannot be converted to JSON Schema.
   */
  constructor(output: OutputSchema<unknown>, taken: ReadonlySet<string>, maxRepairs: number) {
    const { jsonSchema, parse } = compileSchema(output, {
      owner: 'call options',
      path: 'output',
      value: 'answer',
    });
    if (jsonSchema.type !== 'object') {
      const message = 'must describe an object, as providers take nothing else: put it into a field of one';
      throw new InvalidInputError('call options', [{ path: 'output', message }]);
    }
    const schema = closeObjects(jsonSchema);
    let name = NAME;
    for (let number = 2; taken.has(name); number++) name = `${NAME}_${number}`;
    this.responseFormat = { type: 'json', schema, name: NAME };
    this.tool = {
      name,
      description:
        'Gives your final answer. Call it once, alone, when everything else is done; its input is the whole answer.',
      inputSchema: schema,
    };
    this.#parse = parse;
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

  /** @throws {InvalidInputError} when the answer has not the form that was asked for. */
  async read(message: Message | undefined): Promise<void> {
    this.#value = await this.#parse(parseAnswer(message === undefined ? '' : textOf(message)));
  }

  /**
   * Reads an answer. Answers why it cannot be used, and a message that tells the model; `undefined` when it is taken.
   *
   * @param byTool How the model was asked to give it.
   * @throws {OutputError} when it is bad and has been sent back often enough.
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

/** The inside of a Markdown fence, where the text is one. A scan, as a model may write blank lines without end. */
function unfenced(text: string): string {
  const begin = text.indexOf('\n');
  const isFence = text.startsWith('```') && text.endsWith('```') && begin !== -1 && begin < text.length - 3;
  return isFence && /^[a-z]*$/i.test(text.slice(3, begin).trim()) ? text.slice(begin, -3) : text;
}

/**
 * The JSON of an answer, also of one in a Markdown fence.
 *
 * @throws {InvalidInputError} when it is not .
 */
function parseAnswer(text: string): JsonValue {
  try {
    return JSON.parse(unfenced(text.trim())) as JsonValue;
  } catch (cause) {
    const message = `it is not JSON: ${errorText(cause)}`;
    throw new InvalidInputError('answer', [{ path: '', message }], { cause });
  }
}
