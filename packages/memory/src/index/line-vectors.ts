import { createHash } from 'node:crypto';
import type { Database } from 'better-sqlite3';
import { MemoryIndexError } from '../memory-index-error.js';
import type { EmbeddingSettings } from './embedding-config.js';
import { collectionOf, conditionOf, type LineFilter } from './line-filter.js';
import type { IdRange } from './line-id.js';
import type { RankedLine } from './rank-lines.js';

/** Finds lines by what they mean. Every content is embedded once, whatever lines and files it stands in. */
export class LineVectors {
  readonly #database: Database;
  readonly #path: string;
  readonly #settings: EmbeddingSettings;

  private constructor(database: Database, path: string, settings: EmbeddingSettings) {
    this.#database = database;
    this.#path = path;
    this.#settings = settings;
  }

  /** @throws {MemoryIndexError} when the package sqlite-vec is missing, or does not run here. */
  static async open(database: Database, path: string, settings: EmbeddingSettings): Promise<LineVectors> {
    try {
      const { load } = await import('sqlite-vec');
      load(database);
    } catch (cause) {
      throw new MemoryIndexError(
        path,
        'Searching by vectors needs the package sqlite-vec: install it.',
        cause,
      );
    }
    return new LineVectors(database, path, settings);
  }

  /** The nearest lines; none, after telling why, when the embedding fails. */
  async search(query: string, filter: LineFilter, wanted: number): Promise<readonly RankedLine[]> {
    const { ranges } = collectionOf(this.#database, filter);
    try {
      if (!this.#database.readonly) for (const range of ranges) await this.#embedMissing(range);
      const [vector] = await this.#embed([query]);
      return vector === undefined ? [] : this.#nearest(vector, ranges, filter, wanted);
    } catch (error) {
      if (this.#settings.onError === undefined) throw error;
      this.#settings.onError(error);
      return [];
    }
  }

  #nearest(vector: Buffer, ranges: readonly IdRange[], filter: LineFilter, wanted: number): RankedLine[] {
    const condition = conditionOf(filter);
    const find = this.#database.prepare<[Readonly<Record<string, unknown>>], RankedLine>(
      `SELECT lines.id, lines.file_id AS fileId, files.path, lines.number, lines.day, lines.content,
         1 - vec_distance_cosine(vectors.vector, :vector) AS score
       FROM line_vectors
         JOIN vectors ON vectors.hash = line_vectors.hash AND vectors.model = :model
         JOIN lines ON lines.id = line_vectors.line_id JOIN files ON files.id = lines.file_id
       WHERE line_vectors.line_id BETWEEN :first AND :last ${condition === undefined ? '' : `AND ${condition.sql}`}
       ORDER BY score DESC LIMIT :wanted`,
    );
    const model = this.#model;
    return ranges
      .flatMap(({ first, last }) => find.all({ ...condition?.values, vector, model, first, last, wanted }))
      .sort((left, right) => right.score - left.score)
      .slice(0, wanted);
  }

  /** Embeds, in batches, the contents of a range that have no vector yet. */
  async #embedMissing({ first, last }: IdRange): Promise<void> {
    const missing = this.#database.prepare<
      [Readonly<Record<string, unknown>>],
      { id: number; content: string }
    >(
      `SELECT lines.id, lines.content FROM lines
         LEFT JOIN line_vectors ON line_vectors.line_id = lines.id
         LEFT JOIN vectors ON vectors.hash = line_vectors.hash AND vectors.model = :model
       WHERE lines.id BETWEEN :from AND :last AND vectors.hash IS NULL ORDER BY lines.id LIMIT :batch`,
    );
    const has = this.#database.prepare<[Buffer, string]>(
      'SELECT 1 FROM vectors WHERE hash = ? AND model = ?',
    );
    const keep = this.#database.prepare(
      'INSERT OR REPLACE INTO vectors (hash, model, vector) VALUES (?, ?, ?)',
    );
    // Only for lines that still are what was embedded: others may have changed them meanwhile.
    const assign = this.#database.prepare(
      'INSERT OR REPLACE INTO line_vectors (line_id, hash) SELECT id, ? FROM lines WHERE id = ? AND content = ?',
    );
    const [model, batch] = [this.#model, this.#settings.batchSize];
    for (let from = first; ; ) {
      const lines = missing.all({ model, from, last, batch });
      const texts = new Map(lines.map(({ content }) => [hashOf(content).toString('hex'), content]));
      const fresh = [...texts.values()].filter((content) => has.get(hashOf(content), model) === undefined);
      const vectors = fresh.length === 0 ? [] : await this.#embed(fresh);
      this.#database
        .transaction(() => {
          for (const [index, content] of fresh.entries()) keep.run(hashOf(content), model, vectors[index]);
          for (const { id, content } of lines) assign.run(hashOf(content), id, content);
        })
        .immediate();
      const end = lines.at(-1);
      if (end === undefined || lines.length < batch) return;
      from = end.id + 1;
    }
  }

  async #embed(texts: readonly string[]): Promise<readonly Buffer[]> {
    const { embed, dimensions } = this.#settings;
    const vectors = await embed(texts);
    if (vectors.length === texts.length && vectors.every(({ length }) => length === dimensions)) {
      return vectors.map((vector) => Buffer.from(Float32Array.from(vector).buffer));
    }
    throw new MemoryIndexError(
      this.#path,
      `embed must answer one vector of ${dimensions} numbers for each of ${texts.length} texts.`,
    );
  }

  get #model(): string {
    return `${this.#settings.model} ${this.#settings.dimensions}`;
  }
}

function hashOf(content: string): Buffer {
  return createHash('sha256').update(content).digest();
}
