import {
  compileSchema,
  errorText,
  InvalidInputError,
  isObject,
  type JsonObject,
  type JsonValue,
  type ResponseFormat,
  type StandardSchema,
  type ToolDefinition,
} from '@x/core';
import { closeObjects, wrapSchema } from './answer-schema.js';

/** The form of an answer: zod, another Standard Schema that gives JSON Schema, or plain JSON Schema. */
export type OutputSchema<Output> = StandardSchema<Output> | JsonObject;

/** The request for an answer of a certain form, and the reader of it. */
export interface OutputFormat<Output = unknown> {
  /** For models with `structuredOutput`. */
  readonly responseFormat: ResponseFormat;
  /** For all others: the answer is the input of this tool. */
  readonly tool: ToolDefinition;
  /**
   * Reads an answer.
   *
   * @throws {InvalidInputError} saying what is wrong with it.
   */
  read(text: string): Promise<Output>;
}

const NAME = 'final_answer';
/** The field that wraps an answer which is no object: providers and tools take objects only. */
const WRAPPER = 'value';

/**
 * Prepares a schema for asking.
 *
 * @param taken Names of tools, which the answer's tool must not have.
 * @throws {InvalidInputError} when the schema cannot be told to a model.
 */
export function outputFormat<Output>(
  schema: OutputSchema<Output>,
  taken: ReadonlySet<string>,
): OutputFormat<Output> {
  const compiled = compileSchema<Output>(schema, { owner: 'call options', path: 'output', value: 'answer' });
  const givesObject = compiled.jsonSchema.type === 'object';
  const asked = closeObjects(givesObject ? compiled.jsonSchema : wrapSchema(compiled.jsonSchema, WRAPPER));
  return {
    responseFormat: { type: 'json', schema: asked, name: NAME },
    tool: {
      name: freeName(taken),
      description:
        'Gives your final answer. Call it once, alone, when everything else is done; its input is the whole answer.',
      inputSchema: asked,
    },
    async read(text) {
      const answer = parseAnswer(text);
      return compiled.parse(givesObject ? answer : unwrapped(answer));
    },
  };
}

function freeName(taken: ReadonlySet<string>): string {
  let name = NAME;
  for (let number = 2; taken.has(name); number++) name = `${NAME}_${number}`;
  return name;
}

/** Unwraps the value. Accepts an answer without the wrapper too. */
function unwrapped(answer: JsonValue): JsonValue {
  if (!isObject(answer)) return answer;
  const { [WRAPPER]: value, ...rest } = answer;
  return value !== undefined && Object.keys(rest).length === 0 ? value : answer;
}

const FENCED = /^```[a-z]*\s*\n(.*)\n\s*```$/is;

/**
 * The JSON of an answer, also of one in a Markdown fence.
 *
 * @throws {InvalidInputError} when it is no JSON.
 */
function parseAnswer(text: string): JsonValue {
  const trimmed = text.trim();
  const json = FENCED.exec(trimmed)?.[1] ?? trimmed;
  try {
    return JSON.parse(json) as JsonValue;
  } catch (cause) {
    const reason = errorText(cause);
    throw new InvalidInputError('answer', [{ path: '', message: `it is not JSON: ${reason}` }], { cause });
  }
}
