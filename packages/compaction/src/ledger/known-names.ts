import type { Mention } from './mentions.js';
import type { ChunkReader } from './name-chunks.js';

/** Something that was found in texts, and the number of the text where it was last. */
interface Found {
  text: number;
}

/** A name in a stretch of text; whatever else has the same token shares `token`. */
export interface KnownName {
  readonly mention: Mention;
  readonly token: Found;
}

/** A stretch of text, and the names in it. */
export interface KnownChunk extends Found {
  readonly hash: number;
  readonly chunk: string;
  readonly names: readonly KnownName[];
}

/** Slots, twice as many as stretches, and how far from its own slot a stretch may lie. */
const SLOTS = 1 << 15;
const MOST = SLOTS / 2;
const REACH = 16;

/**
 * The stretches of text that were met, and the names in them: agents meet the same files and identifiers again and
 * again, in one text and in the next. Forgets everything when it is full, and never while a text is read.
 */
export class KnownNames {
  #slots: (KnownChunk | undefined)[] = [];
  #tokens = new Map<string, Found>();
  #size = 0;

  /** To be called before each text. */
  makeRoom(): void {
    if (this.#slots.length > 0 && this.#size < MOST && this.#tokens.size < MOST) return;
    this.#slots = new Array<KnownChunk | undefined>(SLOTS).fill(undefined);
    this.#tokens = new Map();
    this.#size = 0;
  }

  /** What is known of the stretch that the reader is at. */
  find(reader: ChunkReader): KnownChunk | undefined {
    const { hash } = reader;
    const slots = this.#slots;
    for (let slot = slotOf(hash), last = slot + REACH; slot < last; slot++) {
      const entry = slots[slot & (SLOTS - 1)];
      if (entry === undefined) return undefined;
      if (entry.hash === hash && reader.is(entry.chunk)) return entry;
    }
    return undefined;
  }

  /** Remembers a stretch, if there is room. */
  add(entry: KnownChunk): void {
    if (this.#size >= MOST) return;
    for (let slot = slotOf(entry.hash), last = slot + REACH; slot < last; slot++) {
      if (this.#slots[slot & (SLOTS - 1)] !== undefined) continue;
      this.#slots[slot & (SLOTS - 1)] = entry;
      this.#size++;
      return;
    }
  }

  /** The one that stands for a token. */
  token(token: string): Found {
    let found = this.#tokens.get(token);
    if (found === undefined) {
      found = { text: 0 };
      this.#tokens.set(token, found);
    }
    return found;
  }
}

function slotOf(hash: number): number {
  return (hash ^ (hash >>> 15)) & (SLOTS - 1);
}
