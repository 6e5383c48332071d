import type { ConversationBuilder } from './conversation-builder.js';

/** The position of a log's row in the tree of its rows. */
export interface Row {
  readonly id?: string | undefined;
  /** The id of the row before it on its branch; `undefined` if the rows of the format name none, as those of a stream. */
  readonly parent?: string | null | undefined;
  readonly session?: string | undefined;
  /** A row with the id of an earlier one is a duplicate if its message is the same, and goes on with the earlier one otherwise. */
  readonly message?: unknown;
  /** `true` if it holds a message of the conversation. */
  readonly isSpoken: boolean;
  /** `true` if it begins a new chain that continues the conversation, as a compaction does. */
  readonly continues?: boolean | undefined;
}

/** A branch of a log, and the irregularities found on the way. */
export interface Branch<Entry> {
  /** The entries of the branch that was followed last, in the order of the log. */
  readonly followed: readonly Entry[];
  /** The entries that hold a message of another branch. */
  readonly others: readonly Entry[];
  /** Duplicate entries. */
  readonly repeated: readonly Entry[];
  /** The entries of the branch whose parent is missing, each with the entry that it was joined to; `undefined` for the first. */
  readonly gaps: ReadonlyMap<Entry, Entry | undefined>;
}

/**
 * Finds the branch that ends in the last spoken row. If someone goes back and says something else, a row gets a second child, and the old
 * branch does not count. If a row's parent is missing, it is joined to the nearest earlier spoken row of its session, so that only the lost
 * row is missing.
 */
export function branchOf<Entry>(entries: readonly Entry[], rowOf: (entry: Entry) => Row): Branch<Entry> {
  const places = new Map<string, number>();
  const rows: { readonly entry: Entry; readonly row: Row; readonly first: number | undefined }[] = [];
  const repeated: Entry[] = [];
  for (const entry of entries) {
    const row = rowOf(entry);
    const first = row.id === undefined ? undefined : places.get(row.id);
    let same = first;
    while (same !== undefined && !isSame(rows[same]?.row, row)) same = rows[same]?.first;
    if (same !== undefined) repeated.push(entry);
    else {
      if (row.id !== undefined) places.set(row.id, rows.length);
      rows.push({ entry, row, first });
    }
  }
  const gaps = new Map<Entry, Entry | undefined>();
  const placeBefore = ({ id, parent, session, continues }: Row, place: number) => {
    const known = continues || parent == null ? undefined : places.get(parent);
    if (known !== undefined) return known;
    let before = place - 1;
    while (before >= 0 && !precedes(rows[before]?.row, session)) before--;
    if (id !== undefined && parent !== undefined && (parent !== null || before >= 0) && !continues)
      gaps.set(rows[place]?.entry as Entry, rows[before]?.entry);
    return before;
  };
  const branch = new Set<number>();
  for (let place = rows.findLastIndex(({ row }) => row.isSpoken); !branch.has(place); ) {
    const found = rows[place];
    if (found === undefined) break;
    branch.add(place);
    place = found.first ?? placeBefore(found.row, place);
  }
  return {
    followed: rows.flatMap(({ entry }, place) => (branch.has(place) ? [entry] : [])),
    others: rows.flatMap(({ entry, row }, place) => (row.isSpoken && !branch.has(place) ? [entry] : [])),
    repeated,
    gaps,
  };
}

function isSame(one: Row | undefined, other: Row): boolean {
  return JSON.stringify(one?.message) === JSON.stringify(other.message);
}

function precedes(row: Row | undefined, session: string | undefined): boolean {
  if (row === undefined || !row.isSpoken) return false;
  return row.session === undefined || session === undefined || row.session === session;
}

/** {@link branchOf}, with gaps and duplicate rows counted by `builder`. */
export function followedLast<Entry>(
  entries: readonly Entry[],
  rowOf: (entry: Entry) => Row,
  builder: ConversationBuilder,
): Branch<Entry> {
  const branch = branchOf(entries, rowOf);
  for (const _ of branch.repeated) builder.unread('duplicate row');
  for (const [entry] of branch.gaps)
    if (rowOf(entry).parent != null) builder.unread('gap in the chain of rows');
  return branch;
}
