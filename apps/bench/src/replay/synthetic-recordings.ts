import {
  assistantMessage,
  type JsonObject,
  type Message,
  type TokenCounter,
  toolResultMessage,
  userMessage,
} from '@x/core';
import { countMessage, type MessageOptions } from '@x/core/messages';
import { findLongRangeReferences } from '@x/replay/internal';
import type { Recording } from './read-recordings.js';
import { stableId } from './stable-id.js';

const words = (
  'account branch budget cache channel cursor delivery device engine export filter gateway handler index invoice ' +
  'journal kernel ledger market meter module notice object order parser payment policy portal quota reader record ' +
  'region review route schema sensor session shipment signal storage stream ticket tracker update vendor wallet worker'
).split(' ');

export interface SyntheticOptions {
  readonly counter: TokenCounter;
  /** Number of conversations per domain. */
  readonly conversations?: number;
  /** Length of each conversation in tokens. */
  readonly tokens?: number;
}

/**
 * Generates conversations of an agent that reads files or orders, and much later works on one of them. They are the same in every run, with
 * probes derived from their content. Half of them are about code, half about orders.
 */
export function syntheticRecordings({
  counter,
  conversations = 3,
  tokens = 90_000,
}: SyntheticOptions): readonly Recording[] {
  const domains = { 'synthetic-coding': codeThing, 'synthetic-orders': orderThing };
  return Object.entries(domains).flatMap(([domain, makeThing]) =>
    Array.from({ length: conversations }, (_, number) => {
      const name = `${domain}-${number + 1}`;
      const messages = new Writer(name, number + domain.length * 1_000, makeThing).write(tokens, counter);
      return {
        name,
        domain,
        source: 'synthetic',
        system: '',
        messages,
        probes: findLongRangeReferences(messages, counter).map((found) => ({ ...found, kind: 'mention' })),
      };
    }),
  );
}

/** An item that the agent looks at and later changes. */
interface Thing {
  /** Names that no other thing has. */
  readonly names: readonly [string, ...string[]];
  readonly look: { readonly tool: string; readonly input: JsonObject };
  readonly change: { readonly tool: string; readonly input: JsonObject };
}

type Random = (limit: number) => number;

function codeThing(random: Random, serial: number): Thing {
  const [left, right] = [word(random), word(random)];
  const path = `src/${word(random)}/${left}-${right}-${serial}.ts`;
  const method = `${left}${capital(right)}${serial}`;
  return {
    names: [path, method, `MAX_${right.toUpperCase()}_${serial}`],
    look: { tool: 'read_file', input: { path } },
    change: { tool: 'edit_file', input: { path, find: `${method}(`, replace: `await ${method}(` } },
  };
}

function orderThing(random: Random, serial: number): Thing {
  const id = `ORD-${10_000 + serial * 7 + random(7)}`;
  const customer = `${word(random)}_${word(random)}_${1_000 + serial}`;
  return {
    names: [id, customer],
    look: { tool: 'get_order', input: { id } },
    change: { tool: 'refund_order', input: { id, customer, reason: `late ${word(random)}` } },
  };
}

/** Writes one conversation. */
class Writer {
  readonly #name: string;
  readonly #random: Random;
  readonly #makeThing: (random: Random, serial: number) => Thing;
  readonly #messages: Message[] = [];
  readonly #seen: Thing[] = [];
  /** Number of things so far: the serial number of the next one. */
  #names = 0;
  #ids = 0;

  constructor(name: string, seed: number, makeThing: (random: Random, serial: number) => Thing) {
    const next = seededRandom(seed);
    this.#name = name;
    this.#random = (limit) => Math.floor(next() * limit);
    this.#makeThing = makeThing;
  }

  write(tokens: number, counter: TokenCounter): readonly Message[] {
    this.#messages.push(userMessage(`Work through the open ${word(this.#random)} cases.`, this.#options()));
    let written = 0;
    let counted = 0;
    while (written < tokens) {
      this.#step();
      for (; counted < this.#messages.length; counted++) {
        written += countMessage(counter, this.#messages[counted] as Message);
      }
    }
    this.#messages.push(assistantMessage('Done.', this.#options()));
    return this.#messages;
  }

  #step(): void {
    const known = this.#seen[this.#random(this.#seen.length)];
    if (known !== undefined && this.#random(3) === 0) {
      this.#call(known.change, 'ok');
      return;
    }
    if (this.#random(25) === 0) {
      this.#messages.push(
        assistantMessage(`The ${word(this.#random)} is done.`, this.#options()),
        userMessage(`Next, look at the ${word(this.#random)}.`, this.#options()),
      );
    }
    const thing = this.#makeThing(this.#random, this.#names);
    this.#seen.push(thing);
    this.#names += thing.names.length;
    this.#call(thing.look, this.#output(thing));
  }

  #call({ tool, input }: Thing['look'], output: string): void {
    const call = { id: `call-${this.#messages.length}`, name: tool };
    this.#messages.push(
      assistantMessage([{ type: 'tool_use', ...call, input }], this.#options()),
      toolResultMessage(call, output, this.#options()),
    );
  }

  #output({ names }: Thing): string {
    const lines = Array.from({ length: 20 + this.#random(120) }, () =>
      Array.from({ length: 12 }, () => word(this.#random)).join(' '),
    );
    for (const name of names) lines.splice(this.#random(lines.length), 0, `${word(this.#random)} ${name}`);
    return lines.join('\n');
  }

  #options(): MessageOptions {
    return { id: stableId(`${this.#name} ${this.#ids++}`), createdAt: '2026-01-01T00:00:00.000Z' };
  }
}

function word(random: Random): string {
  return words[random(words.length)] ?? 'thing';
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Returns a linear congruential generator of numbers from 0 to below 1. */
function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
