import {
  type Capability,
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
import { DirectCalls } from './direct-calls.js';

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
type Plan = (tools: readonly ToolDefinition[]) => readonly Attack[] | Promise<readonly Attack[]>;

/** A model that attacks: it makes the calls that it is told to, and keeps all that it was shown. */
export class Attacker implements Model {
  readonly id = 'attacker';
  readonly contextWindow = 1_000_000;
  /** A capability for the agent: with it, 199 of 200 sequences of calls take no step of the model. */
  readonly direct: Capability = new DirectCalls();
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

  /** Adds what the model would have been shown. */
  saw(text: string): void {
    this.#seen.push(text);
  }

  /** All that requests since the plan have held, and direct calls have answered with a secret, as text. */
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

/** Answers that one call of an agent may take: fewer than agents allow. */
const ROUNDS_PER_CALL = 40;
const CALLS_PER_ROUND = 4;
/** Sequences that are tried directly before each that the model makes, where the agent lets them be; so many at a time. */
const DIRECT = 199;
const AT_A_TIME = 4;

interface Attacks {
  /** What calls may name; the first is a word of the secret that is not all of it. */
  readonly words: readonly string[];
  /** Paths and ids of another's: before anything random, each tool that reads is asked for each of them, where calls are direct. */
  readonly foreign?: readonly string[];
  readonly sequences: number;
  /** Answers with calls that a sequence has. */
  readonly rounds: number;
  /** The text that no answer may hold. */
  readonly secret: string;
  /** One in so many calls may write, and fewer with every sequence: what attackers keep should not become all the work. Else all may. */
  readonly writes?: number;
}

/**
 * Has an attacker make sequences of random calls to the tools that it is offered, the same for the same seed. One call of the
 * agent makes many, one behind the other: what an earlier one left in the conversation is there for the next.
 *
 * @param call Lets the attacker loose once, checks what it has seen, and resolves to what came of it. Told how many sequences were
 * made before.
 * @throws {Error} when a call of the agent does not let the attacker make any.
 */
export async function attackWith(
  attacker: Attacker,
  { words, foreign = [], sequences, rounds, secret, writes }: Attacks,
  call: (made: number) => Promise<unknown>,
): Promise<void> {
  const direct = attacker.direct as DirectCalls;
  const choose = (tools: readonly ToolDefinition[], below: Choice['below'], seed: number) => {
    const every = writes === undefined ? 1 : writes + Math.floor(seed / 8);
    const text = () => words[below(words.length)] ?? '';
    const readers = tools.filter(({ annotations }) => annotations?.readOnly === true);
    return Array.from({ length: CALLS_PER_ROUND }, () => {
      const list = readers.length > 0 && below(every) > 0 ? readers : tools;
      const { name, inputSchema } = list[below(list.length)] as ToolDefinition;
      return { name, input: inputFor(inputSchema, { below, text }) };
    });
  };
  for (let made = 0; made < sequences; ) {
    // The first are the model's: few sequences prove the whole way.
    const tried = direct.isInstalled && made > 0 ? Math.min(sequences - made - 1, DIRECT) : 0;
    const first = made + tried;
    const most =
      tried > 0
        ? 1
        : Math.min(sequences - first, direct.isInstalled ? 2 : Math.floor(ROUNDS_PER_CALL / rounds));
    let next = made;
    direct.attempt(async (make, tools) => {
      const attempt = async (attacks: readonly Attack[]) => {
        for (const answer of await Promise.all(attacks.map(make)))
          if (answer.includes(secret)) attacker.saw(answer);
      };
      if (made === 0) for (const word of foreign) await attempt(callsFor(word, words[0] ?? '', tools));
      const work = async () => {
        while (next < first) {
          const seed = next++;
          const below = randomNumbers(seed);
          for (let round = 0; round < rounds; round++) await attempt(choose(tools, below, seed));
        }
      };
      await Promise.all(Array.from({ length: AT_A_TIME }, work));
    });
    let round = 0;
    let below = randomNumbers(first);
    attacker.plan((tools) => {
      if (round >= most * rounds || tools.length === 0) return [];
      if (round % rounds === 0) below = randomNumbers(first + round / rounds);
      round++;
      return choose(tools, below, first);
    });
    const outcome = await call(made);
    // An agent on a busy machine may lose its turn behind attacks that were made.
    if (round === 0 && next === made)
      throw new Error(`The agent asked for no calls behind sequence ${made}: ${outcome}`);
    // One that the agent ended early is one, too.
    made = round === 0 ? next : first + Math.max(1, Math.floor(round / rounds));
  }
}

/** The calls that ask all tools that read for what has a name: with that alone, and as the place of a search. */
function callsFor(name: string, word: string, tools: readonly ToolDefinition[]): readonly Attack[] {
  return tools
    .filter(({ annotations }) => annotations?.readOnly === true)
    .flatMap((tool) =>
      [0, 1].map((searched) => {
        let texts = 0;
        const text = () => (texts++ < searched ? word : name);
        // The most of a list, and what may be left out only in the search.
        const below = (bound: number) => (searched ? 0 : bound - 1);
        return { name: tool.name, input: inputFor(tool.inputSchema, { below, text }) };
      }),
    );
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

/** Reads how many sequences a suite tries: the number in `X_ATTACKS`, else the standard. */
export function sequencesOf(standard: number): number {
  return Number(process.env.X_ATTACKS ?? standard);
}
