import type { Mention } from './mentions.js';
import type { ChunkReader } from './name-chunks.js';

/** Something that was found in texts, and the number of the text where it was last. */
interface Found {
  text: number;
}

/** A token that is or was a name. Always the very same string, so that equal ones need not be compared. */
interface KnownToken extends Found {
  readonly token: string;
}

/** A name in a stretch of text; whatever else has the same token shares `found`. */
export interface KnownName extends Mention {
  readonly found: KnownToken;
}

/** A stretch of text, and the names in it. */
export interface KnownChunk extends Found {
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
  /** 0 where there is none. */
  #hashes = new Int32Array();
  #chunks: (KnownChunk | undefined)[] = [];
  #tokens = new Map<string, KnownToken>();
  #size = MOST;

  /** To be called before each text. */
  makeRoom(): void {
    if (this.#size < MOST && this.#tokens.size < MOST) return;
    this.#hashes = new Int32Array(SLOTS);
    this.#chunks = new Array<KnownChunk | undefined>(SLOTS).fill(undefined);
    this.#tokens = new Map();
    this.#size = 0;
  }

  /** What is known of the stretch that the reader is at. */
  find(reader: ChunkReader): KnownChunk | undefined {
    const { hash } = reader;
    const hashes = this.#hashes;
    for (let slot = slotOf(hash), last = slot + REACH; slot < last; slot++) {
      const found = hashes[slot & (SLOTS - 1)];
      if (found === 0) return undefined;
      if (found !== hash) continue;
      const known = this.#chunks[slot & (SLOTS - 1)];
      if (known && reader.is(known.chunk)) return known;
    }
    return undefined;
  }

  /** Remembers the stretch that the reader is at, if there is room. */
  add({ hash }: ChunkReader, known: KnownChunk): void {
    if (this.#size >= MOST) return;
    for (let slot = slotOf(hash), last = slot + REACH; slot < last; slot++) {
      if (this.#hashes[slot & (SLOTS - 1)] !== 0) continue;
      this.#hashes[slot & (SLOTS - 1)] = hash;
      this.#chunks[slot & (SLOTS - 1)] = known;
      this.#size++;
      return;
    }
  }

  /** What all names with this token share. */
  found(part: string): KnownToken {
    let found = this.#tokens.get(part);
    if (found === undefined) {
      const token = detached(part);
      found = { token, text: 0 };
      this.#tokens.set(token, found);
    }
    return found;
  }
}

/** The same text as a string of its own: a part of a text would keep the whole of it in memory. */
export function detached(part: string): string {
  return ` ${part}`.slice(1);
}

function slotOf(hash: number): number {
  return (hash ^ (hash >>> 15)) & (SLOTS - 1);
}
