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
  /** Parts of requests that are in `seen`: a long conversation is written once, not once a request. */
  #known = new Set<unknown>();
  #calls = 0;

  plan(plan: Plan): void {
    this.#plan = plan;
    this.#seen = [];
    this.#known = new Set();
  }

  /** All that requests since the plan have held, as text. */
  get seen(): string {
    return this.#seen.join('\n');
  }

  async generate({ system, messages, tools }: ModelRequest): Promise<ModelResponse> {
    const news = [system, tools, ...messages].filter((part) => !this.#known.has(part));
    for (const part of news) this.#known.add(part);
    this.#seen.push(JSON.stringify(news));
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

/** Answers that one call of an agent may take: fewer than agents allow. */
const ROUNDS_PER_CALL = 40;
const CALLS_PER_ROUND = 4;

/**
 * Has an attacker make sequences of random calls to the tools that it is offered, the same for the same seed. One call of the
 * agent makes many, one behind the other: what an earlier one left in the conversation is there for the next.
 *
 * @param rounds Answers with calls that a sequence has.
 * @param call Lets the attacker loose once, and checks what it has seen. Told how many sequences were made before.
 * @throws {Error} when a call of the agent does not let the attacker make any.
 */
export async function attackWith(
  attacker: Attacker,
  {
    words,
    sequences,
    rounds,
  }: { readonly words: readonly string[]; readonly sequences: number; readonly rounds: number },
  call: (made: number) => Promise<void>,
): Promise<void> {
  for (let made = 0; made < sequences; ) {
    const most = Math.min(sequences - made, Math.floor(ROUNDS_PER_CALL / rounds));
    let round = 0;
    let below = randomNumbers(made);
    attacker.plan((tools) => {
      if (round >= most * rounds || tools.length === 0) return [];
      if (round % rounds === 0) below = randomNumbers(made + round / rounds);
      round++;
      const text = () => words[below(words.length)] ?? '';
      return Array.from({ length: CALLS_PER_ROUND }, () => {
        const { name, inputSchema } = tools[below(tools.length)] as ToolDefinition;
        return { name, input: inputFor(inputSchema, { below, text }) };
      });
    });
    await call(made);
    if (round === 0) throw new Error('The agent asked for no calls: no attack was tried.');
    // One that the agent ended early is one, too.
    made += Math.max(1, Math.floor(round / rounds));
  }
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
