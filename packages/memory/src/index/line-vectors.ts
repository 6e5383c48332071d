import type { Database } from 'better-sqlite3';
import * as z from 'zod';
import { MemoryIndexError } from '../errors.js';
import { conditionOf, type LineFilter, searchedLines } from './line-filter.js';
import type { RankedLine } from './line-search.js';
import type { LineWriter } from './line-writer.js';

/** Numbers of a vector are stored as bytes, of a vector of length 127. */
const SCALE = 127;
/** The nearest lines that are looked up: some may be gone, or be outside of the filter. */
const MAX_NEAREST = 1_000;

/** Makes a vector of every text, in the same order. */
export type Embed = (texts: readonly string[]) => Promise<readonly ArrayLike<number>[]>;

export const embeddingSchema = z.strictObject({
  /** Names the model: vectors of another one are made anew. */
  model: z.string().min(1),
  dimensions: z.int().min(1).max(8_192),
  embed: z.custom<Embed>((value) => typeof value === 'function', 'must be a function'),
  /** Texts that are embedded in one go. */
  batchSize: z.int().min(1).max(2_048).default(64),
  /** The share of places that lines found by meaning may take from those found by words. Default a third. */
  share: z
    .number()
    .min(0)
    .max(1)
    .default(1 / 3),
  /** Told when `embed` fails. The search goes on by words alone. */
  onError: z
    .custom<(error: unknown) => void>((value) => typeof value === 'function', 'must be a function')
    .optional(),
});

/** An embedding function, and what it makes. */
export type EmbeddingConfig = z.input<typeof embeddingSchema>;
export type EmbeddingSettings = z.output<typeof embeddingSchema>;

/** Finds lines by what they mean: each has a vector, and all of them are compared, from memory. */
export class LineVectors {
  readonly #database: Database;
  readonly #writing: Database;
  readonly #path: string;
  readonly #settings: EmbeddingSettings;
  readonly #closing = new AbortController();
  #embedding: Promise<void> | undefined;
  #again = false;
  #lineIds = new Float64Array(0);
  #numbers = new Int8Array(0);
  #count = 0;
  #lastSequence = 0;
  readonly #places = new Map<number, number>();

  /** @param writing The connection that the writer writes through; where nothing is written, the same. */
  constructor(database: Database, writing: Database, path: string, settings: EmbeddingSettings) {
    this.#database = database;
    this.#writing = writing;
    this.#path = path;
    this.#settings = settings;
  }

  /**
   * The vector of a query; `undefined`, after telling why, when the embedding fails.
   *
   * @throws what `embed` throws, where nobody is told.
   */
  async embedQuery(query: string): Promise<Int8Array | undefined> {
    try {
      const [vector] = await this.#embed([query]);
      return vector;
    } catch (error) {
      if (this.#settings.onError === undefined) throw error;
      this.#settings.onError(error);
      return undefined;
    }
  }

  /** The nearest lines, the nearest first. */
  search(query: Int8Array, filter: LineFilter, wanted: number): readonly RankedLine[] {
    const { ranges } = searchedLines(this.#database, filter);
    if (this.#model(this.#database) !== this.#modelName) return [];
    this.#load();
    const { dimensions } = this.#settings;
    const nearest: { readonly id: number; readonly score: number }[] = [];
    let worst = Number.NEGATIVE_INFINITY;
    for (let index = 0, at = 0; index < this.#count; index++, at += dimensions) {
      const id = this.#lineIds[index] as number;
      if (!ranges.some(({ first, last }) => id >= first && id <= last)) continue;
      let sum = 0;
      for (let dimension = 0; dimension < dimensions; dimension++) {
        sum += (query[dimension] as number) * (this.#numbers[at + dimension] as number);
      }
      if (nearest.length >= MAX_NEAREST && sum <= worst) continue;
      nearest.push({ id, score: sum / SCALE ** 2 });
      if (nearest.length < 2 * MAX_NEAREST) continue;
      nearest.sort((left, right) => right.score - left.score).splice(MAX_NEAREST);
      worst = (nearest.at(-1)?.score ?? 0) * SCALE ** 2;
    }
    nearest.sort((left, right) => right.score - left.score || right.id - left.id);
    const condition = conditionOf(filter);
    const read = this.#database.prepare<[Readonly<Record<string, unknown>>], Omit<RankedLine, 'score'>>(
      `SELECT lines.id, lines.file_id AS fileId, files.path, lines.number, lines.day, lines.content
       FROM vectors JOIN lines ON lines.id = vectors.line_id JOIN files ON files.id = lines.file_id
       WHERE lines.id = :id ${condition === undefined ? '' : `AND ${condition.sql}`}`,
    );
    const lines: RankedLine[] = [];
    for (const { id, score } of nearest) {
      if (lines.length === wanted) break;
      const line = read.get({ ...condition?.values, id });
      if (line !== undefined) lines.push({ ...line, score });
    }
    return lines;
  }

  /** Embeds, in the background, what has no vector yet. Failures are told, and tried again after the next change. */
  embedMissing(writer: LineWriter): Promise<void> {
    this.#again = true;
    this.#embedding ??= this.#embedAll(writer).finally(() => {
      this.#embedding = undefined;
    });
    return this.#embedding;
  }

  close(): void {
    this.#closing.abort();
  }

  async #embedAll(writer: LineWriter): Promise<void> {
    try {
      while (this.#again) {
        this.#again = false;
        await this.#forgetOtherModel(writer);
        let more = true;
        while (more && !this.#closing.signal.aborted) more = await this.#embedBatch(writer);
      }
    } catch (error) {
      if (this.#closing.signal.aborted) return;
      if (this.#settings.onError !== undefined) this.#settings.onError(error);
      else process.emitWarning(`Embedding for the memory index failed: ${String(error)}`);
    }
  }

  async #embedBatch(writer: LineWriter): Promise<boolean> {
    const { batchSize } = this.#settings;
    const lines = this.#writing
      .prepare<[number], { id: number; content: string }>(
        `SELECT id, content FROM lines WHERE NOT EXISTS (SELECT 1 FROM vectors WHERE line_id = lines.id)
         ORDER BY id LIMIT ?`,
      )
      .all(batchSize);
    if (lines.length === 0) return false;
    const vectors = await this.#embed(lines.map(({ content }) => content));
    if (this.#closing.signal.aborted) return false;
    // Only for lines that still are what was embedded: others may have changed them meanwhile.
    const keep = this.#writing.prepare(
      'INSERT OR REPLACE INTO vectors (line_id, vector) SELECT id, ? FROM lines WHERE id = ? AND content = ?',
    );
    await writer.transaction(() => {
      for (const [index, { id, content }] of lines.entries()) keep.run(vectors[index], id, content);
    });
    return lines.length === batchSize;
  }

  async #forgetOtherModel(writer: LineWriter): Promise<void> {
    if (this.#model(this.#writing) === this.#modelName) return;
    await writer.transaction(() => {
      this.#writing.exec('DELETE FROM vectors');
      this.#writing.prepare(`INSERT OR REPLACE INTO settings VALUES ('model', ?)`).run(this.#modelName);
    });
  }

  get #modelName(): string {
    return `${this.#settings.model} ${this.#settings.dimensions}`;
  }

  #model(database: Database): string | undefined {
    return database.prepare<[], string>(`SELECT value FROM settings WHERE name = 'model'`).pluck().get();
  }

  /** Takes in the vectors that were added since. Those of deleted lines stay until their place is taken again. */
  #load(): void {
    const { dimensions } = this.#settings;
    const added = this.#database.prepare<[number], { sequence: number; id: number; vector: Buffer }>(
      'SELECT sequence, line_id AS id, vector FROM vectors WHERE sequence > ? ORDER BY sequence',
    );
    for (const { sequence, id, vector } of added.iterate(this.#lastSequence)) {
      this.#lastSequence = sequence;
      if (vector.length !== dimensions) continue;
      const place = this.#places.get(id) ?? this.#count++;
      if (place === this.#lineIds.length) this.#grow(dimensions);
      this.#places.set(id, place);
      this.#lineIds[place] = id;
      this.#numbers.set(new Int8Array(vector.buffer, vector.byteOffset, dimensions), place * dimensions);
    }
  }

  #grow(dimensions: number): void {
    const size = Math.max(1_024, 2 * this.#lineIds.length);
    const [lineIds, numbers] = [new Float64Array(size), new Int8Array(size * dimensions)];
    lineIds.set(this.#lineIds);
    numbers.set(this.#numbers);
    this.#lineIds = lineIds;
    this.#numbers = numbers;
  }

  async #embed(texts: readonly string[]): Promise<readonly Int8Array[]> {
    const { embed, dimensions } = this.#settings;
    const vectors = await embed(texts);
    if (vectors.length === texts.length && vectors.every(({ length }) => length === dimensions)) {
      return vectors.map(quantized);
    }
    throw new MemoryIndexError(
      this.#path,
      `embed must answer one vector of ${dimensions} numbers for each of ${texts.length} texts.`,
    );
  }
}

/**
 * One ranking of two: by words, with a line found by meaning at every place that completes its share. However weak an
 * embedding is, the first `n` places hold the `(1 - share) * n` best lines found by words.
 */
export function interleave(
  byWords: readonly RankedLine[],
  byMeaning: readonly RankedLine[],
  share: number,
): readonly RankedLine[] {
  const merged = new Map<string, RankedLine>();
  const queues = { words: [...byWords], meaning: [...byMeaning] };
  const takeFrom = (queue: RankedLine[]): boolean => {
    for (let line = queue.shift(); line !== undefined; line = queue.shift()) {
      const key = `${line.fileId} ${line.number}`;
      if (merged.has(key)) continue;
      merged.set(key, line);
      return true;
    }
    return false;
  };
  for (let place = 1; ; place++) {
    // The sum may miss a whole number by a rounding error.
    const isTurn = Math.floor(place * share + 1e-9) > Math.floor((place - 1) * share + 1e-9);
    const [first, second] = isTurn ? [queues.meaning, queues.words] : [queues.words, queues.meaning];
    if (!takeFrom(first) && !takeFrom(second)) return [...merged.values()];
  }
}

/** A vector of length one as bytes: of two of them, the product says how alike they are. */
function quantized(vector: ArrayLike<number>): Int8Array {
  let squares = 0;
  for (let index = 0; index < vector.length; index++) squares += (vector[index] as number) ** 2;
  const scale = squares > 0 && Number.isFinite(squares) ? SCALE / Math.sqrt(squares) : 0;
  return Int8Array.from(vector, (number) => Math.round(number * scale));
}
