import type {
  Capability,
  JsonObject,
  JsonValue,
  Model,
  ModelRequest,
  ModelResponse,
  RuntimeContext,
} from '@x/core';
import { isObject } from '@x/core/internal';
import type { ToolDefinition } from '@x/core/messages';
import { randomNumbers } from '../random-numbers.js';
import { type Attack, DirectCalls, type MakeCall } from './direct-calls.js';

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
  /** A capability for the agent. With it, 199 of 200 sequences of calls run without a step of the model, which is much faster. */
  readonly direct: Capability = new DirectCalls();
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

  /** Adds the result of a direct call to `seen`. */
  saw(text: string): void {
    this.#seen.push(text);
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

/** Maximum number of answers with tool calls in one call of the agent. Agents allow more. */
const ROUNDS_PER_CALL = 40;
const CALLS_PER_ROUND = 4;
/** Number of direct sequences before each sequence of the model, and how many of them run concurrently. */
const DIRECT = 199;
const AT_A_TIME = 4;

interface Attacks {
  /** Texts for the inputs of random calls. The first is a word that every secret contains, but not a whole secret. */
  readonly words: readonly string[];
  /** Paths and ids of another user. With direct calls, every tool that reads is called with each of them before the random calls. */
  readonly foreign?: readonly string[];
  readonly sequences: number;
  /** Answers with tool calls in a sequence. */
  readonly rounds: number;
  /** The text that no tool may return. */
  readonly secret: string;
  /**
   * One in this many calls may write, and fewer with every sequence, because searching earlier attackers' files would take too long.
   * Default: every call may write.
   */
  readonly writes?: number;
}

/**
 * Makes sequences of random tool calls. The same seed gives the same calls. One call of the agent makes many sequences in a row, so that
 * each sequence can use what earlier ones left in the conversation.
 *
 * @param call Calls the agent once, checks what the attacker has seen, and returns the outcome. `made` is the number of earlier sequences.
 * @throws {Error} if a call of the agent makes no tool call at all.
 */
export async function attackWith(
  attacker: Attacker,
  attacks: Attacks,
  call: (made: number) => Promise<unknown>,
): Promise<void> {
  const { sequences, rounds } = attacks;
  const direct = attacker.direct as DirectCalls;
  for (let made = 0; made < sequences; ) {
    // The model makes the first sequences itself, so that even few sequences test the whole loop.
    const tried = direct.isInstalled && made > 0 ? Math.min(sequences - made - 1, DIRECT) : 0;
    const first = made + tried;
    const possible = direct.isInstalled ? 2 : Math.floor(ROUNDS_PER_CALL / rounds);
    const most = tried > 0 ? 1 : Math.min(sequences - first, possible);
    let next = made;
    direct.attempt(async (make, tools) => {
      const attempt = attempts(attacker, attacks, make);
      if (made === 0) {
        for (const name of attacks.foreign ?? [])
          await attempt(callsFor(name, attacks.words[0] ?? '', tools));
      }
      const work = async () => {
        while (next < first) {
          const seed = next++;
          const below = randomNumbers(seed);
          for (let round = 0; round < rounds; round++) await attempt(choose(attacks, tools, below, seed));
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
      return choose(attacks, tools, below, first);
    });
    const outcome = await call(made);
    // On a busy machine an agent may lose its turn after the direct calls.
    if (round === 0 && next === made)
      throw new Error(
        `The agent asked its model for no tool calls after sequence ${made}. Its outcome: ${outcome}`,
      );
    // A sequence that the agent ended early counts, too.
    made = round === 0 ? next : first + Math.max(1, Math.floor(round / rounds));
  }
}

/** Returns a function that makes calls concurrently, and adds results that contain the secret to `seen`. */
function attempts(attacker: Attacker, { secret }: Attacks, make: MakeCall) {
  return async (attacks: readonly Attack[]): Promise<void> => {
    for (const answer of await Promise.all(attacks.map(make)))
      if (answer.includes(secret)) attacker.saw(answer);
  };
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
  return Array.from({ length: CALLS_PER_ROUND }, () => {
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
