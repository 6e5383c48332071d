import {
  type CompactionOutcome,
  type CompactOptions,
  type Compactor,
  InvalidInputError,
  type Message,
} from '@x/core';
import { fingerprints } from './fingerprint.js';
import { fromMessage } from './from-message.js';
import type { SdkMessage } from './sdk-message.js';
import { toMessage } from './to-message.js';

/** A conversation whose beginning was reduced. */
interface Reduction {
  readonly messages: readonly Message[];
  /** What altered messages were made from, by id. */
  readonly originals: ReadonlyMap<string, SdkMessage>;
}

/** A conversation as it is sent. */
export interface ReducedConversation<Source extends SdkMessage> {
  /** The very list that was given when nothing of it was ever reduced. */
  readonly messages: readonly Source[];
  readonly outcome: CompactionOutcome;
}

/**
 * Reduces conversations that the SDK hands over whole again and again. A beginning that was reduced once is found again
 * by its content and sent as it was then, so that the provider's cache keeps hitting and nothing is summarised twice.
 */
export class Reductions {
  readonly #compactor: Compactor;
  readonly #capacity: number;
  /** By the fingerprint of what was reduced; least recently used first. */
  readonly #known = new Map<string, Reduction>();

  /** @param capacity How many reductions are remembered. */
  constructor(compactor: Compactor, capacity: number) {
    this.#compactor = compactor;
    this.#capacity = capacity;
  }

  /** The conversation with what is known of it reduced; nothing is reduced anew. */
  recall<Source extends SdkMessage>(messages: readonly Source[]): readonly Source[] {
    const { reduction, start, fresh } = this.#open(messages);
    return reduction === undefined ? messages : sdkMessages(reduction, fresh, messages, start);
  }

  /** Reduces further what is known, if the compactor sees need. */
  async reduce<Source extends SdkMessage>(
    messages: readonly Source[],
    options: CompactOptions,
  ): Promise<ReducedConversation<Source>> {
    const { ids, reduction, start, fresh } = this.#open(messages);
    const view = [...(reduction?.messages ?? []), ...fresh];
    const outcome = await this.#compactor.compact(view, options);
    const same = () => (reduction === undefined ? messages : sdkMessages(reduction, fresh, messages, start));
    if (outcome.status !== 'applied') return { messages: same(), outcome };
    const sources = new Map(reduction?.originals);
    fresh.forEach((message, index) => {
      const source = messages[start + index];
      if (source !== undefined) sources.set(message.id, source);
    });
    const staying = new Set(outcome.messages.map(({ id }) => id));
    const originals = new Map([...sources].filter(([id]) => staying.has(id)));
    const next = { messages: outcome.messages, originals };
    try {
      const written = sdkMessages<Source>(next, [], messages, messages.length);
      this.#remember(ids.at(-1) ?? '', next);
      return { messages: written, outcome };
    } catch (error) {
      if (!InvalidInputError.isInstance(error)) throw error;
      // What the SDK has no words for cannot be sent: the conversation stays as it was.
      const failed = { status: 'failed', reason: error.message, messages: view, manifest: [] } as const;
      return { messages: same(), outcome: { ...outcome, ...failed } };
    }
  }

  /** The longest beginning that was reduced before, and the rest in our words. */
  #open(messages: readonly SdkMessage[]) {
    const ids = fingerprints(messages);
    const last = ids.findLastIndex((id) => this.#known.has(id));
    const id = ids[last];
    const reduction = id === undefined ? undefined : this.#known.get(id);
    if (id !== undefined && reduction !== undefined) this.#remember(id, reduction);
    const start = last + 1;
    const fresh = messages.slice(start).map((message, index) => toMessage(message, ids[start + index] ?? ''));
    return { ids, reduction, start, fresh };
  }

  #remember(id: string, reduction: Reduction): void {
    this.#known.delete(id);
    this.#known.set(id, reduction);
    const [oldest] = this.#known.keys();
    if (this.#known.size > this.#capacity && oldest !== undefined) this.#known.delete(oldest);
  }
}

// The messages come back as the type that they were given in: unaltered ones are the same objects, and the few parts
// that are rebuilt are of that type's own kinds.
function sdkMessages<Source extends SdkMessage>(
  { messages, originals }: Reduction,
  fresh: readonly Message[],
  sources: readonly Source[],
  start: number,
): readonly Source[] {
  const reduced = messages.map((message) => fromMessage(message, originals.get(message.id)) as Source);
  return fresh.length === 0 ? reduced : [...reduced, ...sources.slice(start)];
}
