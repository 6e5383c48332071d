import type { Database, Statement } from 'better-sqlite3';
import type { IdRange } from './line-id.js';

const MAX_KNOWN = 1_000;

/** How many lines have a term. Counting reads all that is indexed of it, so it is done once until the index changes. */
export class TermCounts {
  readonly #count: Statement<[string, number, number], number>;
  readonly #version: Statement<[], number>;
  readonly #ownChanges: Statement<[], number>;
  readonly #known = new Map<string, number>();
  #knownFor = '';

  constructor(database: Database) {
    this.#count = database
      .prepare<[string, number, number], number>(
        'SELECT count(*) FROM line_terms WHERE line_terms MATCH ? AND rowid BETWEEN ? AND ?',
      )
      .pluck();
    // The one changes when other connections write, the other when this one does.
    this.#version = database.prepare<[], number>('PRAGMA data_version').pluck();
    this.#ownChanges = database.prepare<[], number>('SELECT total_changes()').pluck();
  }

  count(expression: string, ranges: readonly IdRange[]): number {
    const version = `${this.#version.get()} ${this.#ownChanges.get()}`;
    if (version !== this.#knownFor || this.#known.size > MAX_KNOWN) this.#known.clear();
    this.#knownFor = version;
    let sum = 0;
    for (const { first, last } of ranges) {
      const key = `${first} ${expression}`;
      const count = this.#known.get(key) ?? this.#count.get(expression, first, last) ?? 0;
      this.#known.set(key, count);
      sum += count;
    }
    return sum;
  }
}
