import type { JsonObject, JsonValue, Model, ModelRequest, ModelResponse, RuntimeContext } from '@x/core';
import { isObject } from '@x/core/internal';
import type { ToolDefinition } from '@x/core/messages';
import { randomNumbers } from '../random-numbers.js';

/** One tool call of the attacker. */
export interface Attack {
  readonly name: string;
  readonly input: JsonObject;
}

/** The agent under attack: a `HarnessAgent`, or any object with these two methods. */
export interface AttackedAgent {
  /** Answers a message with the model of the suite. */
  call(input: string, context: RuntimeContext): Promise<unknown>;
  close(): Promise<void>;
}

/** Chooses the tool calls of the next answer from the tools in the request. An empty list makes the attacker answer with text. */
type Plan = (tools: readonly ToolDefinition[]) => readonly Attack[] | Promise<readonly Attack[]>;

/** A model that attacks its agent: it makes planned tool calls and keeps everything that it sees. */
export class Attacker implements Model {
  readonly id = 'attacker';
  readonly contextWindow = 1_000_000;
  /** The text of an answer without calls. */
  answer = 'Done.';
  #plan: Plan = () => [];
  #seen: string[] = [];
  /** Parts of requests that are already in `seen`, so that a long conversation is serialized once, not with every request. */
  #known = new Set<unknown>();
  #calls = 0;

  /** Sets the plan for the next answers, and clears `seen`. */
  plan(plan: Plan): void {
    this.#plan = plan;
    this.#seen = [];
    this.#known = new Set();
  }

  /** Everything that requests have shown the model since the last plan, as text. */
  get seen(): string {
    return this.#seen.join('\n');
  }

  async generate({ system, messages, tools }: ModelRequest): Promise<ModelResponse> {
    const news = [system, tools, ...messages].filter((part) => !this.#known.has(part));
    for (const part of news) this.#known.add(part);
    this.#seen.push(JSON.stringify(news));
    const calls = await this.#plan(tools);
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

/** Number of answers with tool calls in one call of the agent. It is below the step limit of agents. */
const ANSWERS_PER_CALL = 10;
const CALLS_PER_ANSWER = 4;

interface Attacks {
  /** Texts for the inputs of random calls. The first is a word that every secret contains, but not a whole secret. */
  readonly words: readonly string[];
  /** Paths and ids of another user. Before the random calls, every tool that reads is called with each of them. */
  readonly foreign?: readonly string[];
  readonly sequences: number;
  /** Answers with tool calls in a sequence. */
  readonly rounds: number;
  /**
   * One in this many calls may write, and fewer with every sequence, because searching earlier attackers' files would take too long.
   * Default: every call may write.
   */
  readonly writes?: number;
}

/**
 * Makes sequences of random tool calls. The same seed gives the same calls. One call of the agent makes several sequences in a row, so
 * that each sequence can use what earlier ones left in the conversation.
 *
 * @param call Calls the agent once, checks what the attacker has seen, and returns the outcome. `made` is the number of earlier calls.
 * @throws {Error} if a call of the agent makes no tool call at all.
 */
export async function attackWith(
  attacker: Attacker,
  attacks: Attacks,
  call: (made: number) => Promise<unknown>,
): Promise<void> {
  const answers = answersOf(attacks);
  let next = answers.next();
  for (let made = 0; !next.done; made++) {
    let left = ANSWERS_PER_CALL;
    attacker.plan((tools) => {
      if (left === 0 || tools.length === 0 || next.done) return [];
      left--;
      const calls = next.value(tools);
      next = answers.next();
      return calls;
    });
    const outcome = await call(made);
    if (left === ANSWERS_PER_CALL)
      throw new Error(
        `The agent asked its model for no tool calls in call ${made + 1}. Its outcome: ${outcome}`,
      );
  }
}

/** Yields the answers of all sequences, each as a function that chooses its calls. */
function* answersOf(
  attacks: Attacks,
): Generator<(tools: readonly ToolDefinition[]) => readonly Attack[], void> {
  const { words, foreign = [], sequences, rounds } = attacks;
  for (const name of foreign) yield (tools) => callsFor(name, words[0] ?? '', tools);
  for (let seed = 0; seed < sequences; seed++) {
    const below = randomNumbers(seed);
    for (let round = 0; round < rounds; round++) yield (tools) => choose(attacks, tools, below, seed);
  }
}

/** Chooses the random calls of one answer. */
function choose(
  { words, writes }: Attacks,
  tools: readonly ToolDefinition[],
  below: Choice['below'],
  seed: number,
): readonly Attack[] {
  const every = writes === undefined ? 1 : writes + Math.floor(seed / 8);
  const text = () => words[below(words.length)] ?? '';
  const readers = tools.filter(isReader);
  return Array.from({ length: CALLS_PER_ANSWER }, () => {
    const list = readers.length > 0 && below(every) > 0 ? readers : tools;
    const { name, inputSchema } = list[below(list.length)] as ToolDefinition;
    return { name, input: inputFor(inputSchema, { below, text }) };
  });
}

/** Returns calls of every tool that reads with a path or id: once with that alone, and once as the place of a search. */
function callsFor(name: string, word: string, tools: readonly ToolDefinition[]): readonly Attack[] {
  return tools.filter(isReader).flatMap((tool) =>
    [0, 1].map((searched) => {
      let texts = 0;
      const text = () => (texts++ < searched ? word : name);
      // Without a search, chooses the last entry of an enum. Optional properties are set only in a search.
      const below = (bound: number) => (searched ? 0 : bound - 1);
      return { name: tool.name, input: inputFor(tool.inputSchema, { below, text }) };
    }),
  );
}

export function isReader({ annotations }: ToolDefinition): boolean {
  return annotations?.readOnly === true;
}

interface Choice {
  /** A whole number below a bound. */
  below(bound: number): number;
  /** The text for a property. */
  text(): string;
}

/** Creates an input that fits a JSON Schema. */
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

/** Returns the number of sequences: the environment variable `X_ATTACKS`, or the default of the suite. */
export function sequencesOf(standard: number): number {
  return Number(process.env.X_ATTACKS ?? standard);
}

/** Returns the text around a secret, for a failure message; `undefined` if the text does not contain the secret. */
export function excerptAround(secret: string, text: string): string | undefined {
  const at = text.indexOf(secret);
  return at < 0 ? undefined : text.slice(Math.max(0, at - 300), at + secret.length + 60);
}
