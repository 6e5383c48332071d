/** Lines that one length class of one scope may hold, longest ago to now. */
const SEQUENCES = 2 ** 29;
const LENGTH_CLASSES = 64;
/** Up to here every number of terms is a class of its own; above, each class is an eighth wider than the one before. */
const EXACT_LENGTHS = 32;
const GROWTH = 1.125;
const SCOPE_SIZE = SEQUENCES * LENGTH_CLASSES;

/** Scopes that fit into one index: ids stay integers that JavaScript holds exactly. */
export const MAX_SCOPES = Math.floor(Number.MAX_SAFE_INTEGER / SCOPE_SIZE);

/** Ids from `first` to `last`. */
export interface IdRange {
  readonly first: number;
  readonly last: number;
}

/**
 * The ids of a scope's lines. A line's id says whose it is and how long it is: read backwards, the matches of a word come
 * shortest first, of equals the newest, so that the best ones are among the first that a full-text index yields, without
 * ranking all of them.
 */
export function idsOfScope(scopeId: number): IdRange {
  return { first: scopeId * SCOPE_SIZE, last: (scopeId + 1) * SCOPE_SIZE - 1 };
}

/** The ids of a scope's lines of about that many terms. */
export function idsOfLength(scopeId: number, terms: number): IdRange {
  const first = scopeId * SCOPE_SIZE + (LENGTH_CLASSES - 1 - lengthClass(terms)) * SEQUENCES;
  return { first, last: first + SEQUENCES - 1 };
}

/** How many terms the line of an id has; of long lines about. */
export function lengthOf(id: number): number {
  return exactLengthOf(id) ?? EXACT_LENGTHS * GROWTH ** (lengthClassOf(id) - EXACT_LENGTHS);
}

/** The same; `undefined` for long lines. */
export function exactLengthOf(id: number): number | undefined {
  const length = lengthClassOf(id);
  return length <= EXACT_LENGTHS ? length : undefined;
}

function lengthClassOf(id: number): number {
  return LENGTH_CLASSES - 1 - (Math.floor(id / SEQUENCES) % LENGTH_CLASSES);
}

function lengthClass(terms: number): number {
  if (terms <= EXACT_LENGTHS) return terms;
  const beyond = Math.ceil(Math.log(terms / EXACT_LENGTHS) / Math.log(GROWTH));
  return Math.min(LENGTH_CLASSES - 1, EXACT_LENGTHS + beyond);
}
