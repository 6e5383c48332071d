import type { Mention } from './mentions.js';
import type { ChunkReader } from './name-chunks.js';

/** So many stretches, names and units of text are remembered before all is forgotten. */
const MOST = 1 << 14;
const MOST_UNITS = 1 << 19;

/** The fields of a stretch: its hash, its text, the text where it was last, where its names begin and end. */
const FIELDS = 6;
const HASH = 0;
const START = 1;
const LENGTH = 2;
const SEEN = 3;
const FIRST_NAME = 4;
const NAMES_END = 5;

/**
 * The stretches of text that were met, and the names in them: agents meet the same files and identifiers again and
 * again, in one text and in the next. All in a few arrays of numbers, since looking up is most of what reading a text
 * for names takes. Forgets everything when it is full, and never while a text is read.
 */
export class KnownNames {
  /** By hash: 1 more than the number of a stretch, or 0. At most half of them are in use. */
  #slots = new Int32Array(1_024);
  #chunks = new Int32Array(512 * FIELDS);
  #size = 0;
  #units = new Uint16Array(8_192);
  #used = 0;
  /** The names of one stretch after the other, and of each the number of its token. */
  #names: Mention[] = [];
  #tokenOf: number[] = [];
  /** The tokens, each always as the very same string, so that equal ones need not be compared. */
  #tokens: string[] = [];
  #numberOf = new Map<string, number>();
  /** Of each token the text where it was last. */
  #seen: number[] = [];
  #text = 0;

  /** To be called before each text. */
  begin(): void {
    this.#text++;
    if (this.#size < MOST && this.#names.length < MOST && this.#used < MOST_UNITS) return;
    this.#slots.fill(0);
    this.#size = 0;
    this.#used = 0;
    this.#names = [];
    this.#tokenOf = [];
    this.#tokens = [];
    this.#numberOf = new Map();
    this.#seen = [];
  }

  /**
   * Adds the names in the stretch that the reader is at to `found`, but those that this text had already.
   *
   * @param namesIn Finds the names in a stretch that is not known.
   */
  collect(reader: ChunkReader, found: Mention[], namesIn: (reader: ChunkReader) => readonly Mention[]): void {
    const at = (this.#find(reader) ?? this.#learn(reader, namesIn(reader))) * FIELDS;
    const chunks = this.#chunks;
    if (chunks[at + SEEN] === this.#text) return;
    chunks[at + SEEN] = this.#text;
    const end = chunks[at + NAMES_END] as number;
    for (let name = chunks[at + FIRST_NAME] as number; name < end; name++) {
      const token = this.#tokenOf[name] as number;
      if (this.#seen[token] === this.#text) continue;
      this.#seen[token] = this.#text;
      found.push(this.#names[name] as Mention);
    }
  }

  #find(reader: ChunkReader): number | undefined {
    const { hash } = reader;
    const slots = this.#slots;
    const chunks = this.#chunks;
    for (let slot = mixed(hash); ; slot++) {
      const chunk = (slots[slot & (slots.length - 1)] as number) - 1;
      if (chunk < 0) return undefined;
      const at = chunk * FIELDS;
      if (chunks[at + HASH] !== hash) continue;
      if (reader.is(this.#units, chunks[at + START] as number, chunks[at + LENGTH] as number)) return chunk;
    }
  }

  #learn(reader: ChunkReader, names: readonly Mention[]): number {
    const chunk = this.#size++;
    if (2 * this.#size > this.#slots.length) this.#widen();
    if (this.#chunks.length < this.#size * FIELDS) this.#chunks = doubled(this.#chunks);
    const length = reader.end - reader.start;
    while (this.#units.length < this.#used + length) this.#units = doubled(this.#units);
    reader.copyTo(this.#units, this.#used);
    const first = this.#names.length;
    for (const { token, kind } of names) {
      const number = this.#numberOfToken(token);
      this.#tokenOf.push(number);
      this.#names.push({ token: this.#tokens[number] as string, kind });
    }
    const at = chunk * FIELDS;
    this.#chunks[at + HASH] = reader.hash;
    this.#chunks[at + START] = this.#used;
    this.#chunks[at + LENGTH] = length;
    this.#chunks[at + SEEN] = 0;
    this.#chunks[at + FIRST_NAME] = first;
    this.#chunks[at + NAMES_END] = this.#names.length;
    this.#used += length;
    this.#place(chunk, reader.hash);
    return chunk;
  }

  #numberOfToken(part: string): number {
    let number = this.#numberOf.get(part);
    if (number === undefined) {
      // A part of a text would keep the whole of it in memory.
      const token = ` ${part}`.slice(1);
      number = this.#tokens.push(token) - 1;
      this.#numberOf.set(token, number);
      this.#seen.push(0);
    }
    return number;
  }

  #widen(): void {
    this.#slots = new Int32Array(2 * this.#slots.length);
    for (let chunk = 0; chunk < this.#size - 1; chunk++) {
      this.#place(chunk, this.#chunks[chunk * FIELDS + HASH] as number);
    }
  }

  #place(chunk: number, hash: number): void {
    const mask = this.#slots.length - 1;
    let slot = mixed(hash);
    while (this.#slots[slot & mask] !== 0) slot++;
    this.#slots[slot & mask] = chunk + 1;
  }
}

function mixed(hash: number): number {
  return (hash ^ (hash >>> 15)) & 0x3fffffff;
}

function doubled<Numbers extends Int32Array | Uint16Array>(numbers: Numbers): Numbers {
  const longer = new (numbers.constructor as new (length: number) => Numbers)(2 * numbers.length);
  longer.set(numbers);
  return longer;
}
