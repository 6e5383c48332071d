import type { Database, Statement } from 'better-sqlite3';
import type { Find } from './candidates.js';
import { type Collection, conditionOf, type LineFilter } from './line-filter.js';

type Values = Readonly<Record<string, string | number>>;

/** Finds the ids of lines by full-text expressions. */
export class LineFinder {
  readonly #database: Database;
  readonly #statements = new Map<string, Statement<[Values], number>>();

  constructor(database: Database) {
    this.#database = database;
  }

  within({ ranges }: Collection, filter: LineFilter): Find {
    const condition = conditionOf(filter);
    const statement = this.#statement(condition?.sql);
    return (match, limit) =>
      ranges.flatMap(({ first, last }) => statement.all({ ...condition?.values, match, first, last, limit }));
  }

  // There are few conditions: their values are parameters.
  #statement(condition: string | undefined): Statement<[Values], number> {
    const known = this.#statements.get(condition ?? '');
    if (known !== undefined) return known;
    const extra =
      condition === undefined
        ? ''
        : `AND EXISTS (
             SELECT 1 FROM lines JOIN files ON files.id = lines.file_id
             WHERE lines.id = line_terms.rowid AND ${condition}
           )`;
    const statement = this.#database
      .prepare<[Values], number>(
        `SELECT rowid FROM line_terms
         WHERE line_terms MATCH :match AND rowid BETWEEN :first AND :last ${extra}
         ORDER BY rowid DESC LIMIT :limit`,
      )
      .pluck();
    this.#statements.set(condition ?? '', statement);
    return statement;
  }
}
