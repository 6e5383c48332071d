import {
  isObject,
  type JsonObject,
  type JsonValue,
  type Model,
  type ModelRequest,
  type ModelResponse,
  type RuntimeContext,
  type ToolDefinition,
} from '@x/core';
import { randomNumbers } from '../random-numbers.js';

/** An agent as suites attack it: a `HarnessAgent`, or anything else with these. */
export interface AttackedAgent {
  /** Answers a message, with the model that the suite gave. */
  call(input: string, context: RuntimeContext): Promise<unknown>;
  close(): Promise<void>;
}

/** One tool call that the attacker makes. */
export interface Attack {
  readonly name: string;
  readonly input: JsonObject;
}

/** Chooses the calls of the next answer, given what is offered; none ends the call. */
type Plan = (tools: readonly ToolDefinition[]) => readonly Attack[];

/** A model that attacks: it makes the calls that it is told to, and keeps all that it was shown. */
export class Attacker implements Model {
  readonly id = 'attacker';
  readonly contextWindow = 1_000_000;
  /** The text of an answer without calls. */
  answer = 'Done.';
  #plan: Plan = () => [];
  #seen: string[] = [];
  #calls = 0;

  plan(plan: Plan): void {
    this.#plan = plan;
    this.#seen = [];
  }

  /** All requests since the plan, as text. */
  get seen(): string {
    return this.#seen.join('\n');
  }

  async generate({ system, messages, tools }: ModelRequest): Promise<ModelResponse> {
    this.#seen.push(JSON.stringify([system, messages, tools]));
    const calls = this.#plan(tools);
    if (calls.length === 0) {
      return { content: [{ type: 'text', text: this.answer }], finishReason: 'stop' };
    }
    const content = calls.map((call) => ({
      type: 'tool_use' as const,
      id: `call-${this.#calls++}`,
      ...call,
    }));
    return { content, finishReason: 'tool-calls' };
  }
}

/** Plans rounds of random calls to the tools that are offered, the same for the same seed. */
export function randomPlan(seed: number, words: readonly string[], rounds = 2, perRound = 4): Plan {
  const below = randomNumbers(seed);
  const text = () => words[below(words.length)] ?? '';
  let left = rounds;
  return (tools) => {
    if (left-- <= 0 || tools.length === 0) return [];
    return Array.from({ length: perRound }, () => {
      const { name, inputSchema } = tools[below(tools.length)] as ToolDefinition;
      return { name, input: inputFor(inputSchema, { below, text }) };
    });
  };
}

interface Choice {
  /** A whole number below a bound. */
  below(bound: number): number;
  /** The text for a property. */
  text(): string;
}

/** Makes an input that fits a schema, but for what only its descriptions say. */
export function inputFor(schema: JsonObject, choice: Choice): JsonObject {
  const value = valueFor(schema, choice);
  return isObject(value) ? (value as JsonObject) : {};
}

function valueFor(schema: JsonObject, choice: Choice): JsonValue {
  const { type, enum: values, const: only, anyOf, oneOf, properties, required, items, minimum } = schema;
  const pick = (list: readonly JsonValue[]) => list[choice.below(list.length)] as JsonValue;
  if (only !== undefined) return only;
  if (Array.isArray(values)) return pick(values);
  for (const forms of [anyOf, oneOf])
    if (Array.isArray(forms)) return valueFor(pick(forms) as JsonObject, choice);
  const kind = Array.isArray(type) ? type[0] : type;
  if (kind === 'object' || isObject(properties)) {
    const needed = Array.isArray(required) ? required : [];
    const entries = Object.entries((properties ?? {}) as Record<string, JsonObject>);
    return Object.fromEntries(
      entries
        .filter(([name]) => needed.includes(name) || choice.below(2) === 0)
        .map(([name, property]) => [name, valueFor(property, choice)]),
    );
  }
  if (kind === 'array') return [valueFor((items ?? { type: 'string' }) as JsonObject, choice)];
  if (kind === 'boolean') return choice.below(2) === 0;
  if (kind === 'integer' || kind === 'number')
    return (typeof minimum === 'number' ? minimum : 0) + choice.below(50);
  return kind === 'null' ? null : choice.text();
}

/** Reads how many sequences a suite tries: `X_ATTACKS` is a number, or `full` for 100 000. */
export function sequencesOf(standard: number): number {
  const { X_ATTACKS: asked } = process.env;
  return asked === 'full' ? 100_000 : Number(asked ?? standard);
}
