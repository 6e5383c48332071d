import type { ConversationBuilder } from './conversation-builder.js';

/** The position of one log row in the tree of rows. */
export interface Row {
  readonly id?: string | undefined;
  /** The id of the previous row on the branch. `undefined` if the format has no parent ids, for example a stream. */
  readonly parent?: string | null | undefined;
  readonly session?: string | undefined;
  /**
   * If two rows have the same id and the same message, the later row is a duplicate. If the messages differ, it continues the earlier row.
   */
  readonly message?: unknown;
  /** `true` if the row has a message of the conversation. */
  readonly isMessage: boolean;
  /** `true` if the row starts a new chain that continues the conversation, for example after a compaction. */
  readonly continues?: boolean | undefined;
}

/** One branch of a log, and the defects found in the log. */
export interface Branch<Entry> {
  /** The entries of the last branch, in the order of the log. */
  readonly followed: readonly Entry[];
  /** The entries with a message of another branch. */
  readonly others: readonly Entry[];
  /** Duplicate entries. */
  readonly repeated: readonly Entry[];
  /** The entries of the branch whose parent is missing, each with the entry that replaces the parent; `undefined` for the first entry. */
  readonly gaps: ReadonlyMap<Entry, Entry | undefined>;
}

/**
 * Finds the branch that ends in the last message. If a user rewinds, a row gets a second child, and the old branch is omitted. If a
 * row's parent is missing, the nearest earlier message of its session becomes the parent, so that only the missing row is lost.
 */
export function branchOf<Entry>(entries: readonly Entry[], rowOf: (entry: Entry) => Row): Branch<Entry> {
  const places = new Map<string, number>();
  /** The index of the first row that names a parent. After a rewind, several rows name the same. */
  const firstChildren = new Map<string, number>();
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
      if (row.parent != null && !firstChildren.has(row.parent)) firstChildren.set(row.parent, rows.length);
      rows.push({ entry, row, first });
    }
  }
  const gaps = new Map<Entry, Entry | undefined>();
  const branch = new Set<number>();
  const parentIndexOf = ({ id, parent, session, continues }: Row, place: number) => {
    const known = continues || parent == null ? undefined : places.get(parent);
    // In a damaged log, a row may name itself or one of its descendants.
    if (known !== undefined && !branch.has(known)) return known;
    let before = (known === undefined ? (firstChildren.get(parent ?? '') ?? place) : place) - 1;
    while (before >= 0 && (branch.has(before) || !canBeParent(rows[before]?.row, session))) before--;
    if (id !== undefined && parent !== undefined && (parent !== null || before >= 0) && !continues)
      gaps.set(rows[place]?.entry as Entry, rows[before]?.entry);
    return before;
  };
  for (let place = rows.findLastIndex(({ row }) => row.isMessage); !branch.has(place); ) {
    const found = rows[place];
    if (found === undefined) break;
    branch.add(place);
    place = found.first ?? parentIndexOf(found.row, place);
  }
  return {
    followed: rows.flatMap(({ entry }, place) => (branch.has(place) ? [entry] : [])),
    others: rows.flatMap(({ entry, row }, place) => (row.isMessage && !branch.has(place) ? [entry] : [])),
    repeated,
    gaps,
  };
}

function isSame(one: Row | undefined, other: Row): boolean {
  return JSON.stringify(one?.message) === JSON.stringify(other.message);
}

function canBeParent(row: Row | undefined, session: string | undefined): boolean {
  if (row === undefined || !row.isMessage) return false;
  return row.session === undefined || session === undefined || row.session === session;
}

/** Does the same as {@link branchOf}, and counts gaps and duplicate rows in `builder`. */
export function followLastBranch<Entry>(
  entries: readonly Entry[],
  rowOf: (entry: Entry) => Row,
  builder: ConversationBuilder,
): Branch<Entry> {
  const branch = branchOf(entries, rowOf);
  for (const _ of branch.repeated) builder.unread('duplicate row');
  for (const [entry] of branch.gaps)
    if (rowOf(entry).parent != null) builder.unread('row with a missing parent');
  return branch;
}
