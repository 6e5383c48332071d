import type { Connection } from './index-database.js';

const PREFIX = /^(?:tenants\/[^/]+\/)?(?:users\/[^/]+\/)?(?:agents\/[^/]+\/)?/;

/**
 * Answers whose a file is: the directory of a tenant, user and agent, empty or ending with `/`. Lines of different scopes
 * are ranked apart and never meet in a scoped search.
 */
export function scopeOfPath(path: string): string {
  return PREFIX.exec(path)?.[0] ?? '';
}

/** Ids from `first` to `last`. */
export interface IdRange {
  readonly first: number;
  readonly last: number;
}

/** Lines that one scope may hold, longest ago to now. */
const SCOPE_SIZE = 2 ** 32;
/** Scopes that fit into one index: ids stay integers that JavaScript holds exactly. */
export const MAX_SCOPES = Math.floor(Number.MAX_SAFE_INTEGER / SCOPE_SIZE);

/** The ids of a scope's lines, which say whose they are and which are newer. */
export function idsOfScope(scopeId: number): IdRange {
  return { first: scopeId * SCOPE_SIZE, last: (scopeId + 1) * SCOPE_SIZE - 1 };
}

/** Which lines a search may find. */
export interface LineFilter {
  readonly prefix?: string | null | undefined;
  /** Days since 1970, both included; undated lines are left out. */
  readonly since?: number | undefined;
  readonly until?: number | undefined;
}

/** Tells in SQL whether a line passes a filter within its scopes. */
export const PASSES = '((:since IS NULL OR lines.day >= :since) AND (:until IS NULL OR lines.day <= :until))';

/** The part of an index that a search looks at. */
export interface SearchedLines {
  readonly ranges: readonly IdRange[];
  readonly lines: number;
  /** Terms of a line, on average. */
  readonly averageLength: number;
}

/** The scopes that a filter allows: what is outside of them is neither found nor counted. */
export function searchedLines(sql: Connection, { prefix = null }: LineFilter): SearchedLines {
  const rows = sql.rows<{ readonly id: number; readonly lines: number; readonly terms: number }>(
    'SELECT id, lines, terms FROM scopes WHERE lines > 0 AND (:prefix IS NULL OR prefix = :prefix)',
    { prefix },
  );
  const lines = rows.reduce((sum, row) => sum + row.lines, 0);
  const terms = rows.reduce((sum, row) => sum + row.terms, 0);
  return { ranges: rows.map(({ id }) => idsOfScope(id)), lines, averageLength: terms / Math.max(1, lines) };
}
