import type { ConversationBuilder } from './conversation-builder.js';

/** The place of a row of a log in the tree that its rows make. */
export interface Row {
  readonly id?: string | undefined;
  /** The id of the row before it on its branch. */
  readonly parent?: string | null | undefined;
  readonly session?: string | undefined;
  /** It holds a message, and what is left of it in a log belongs to the conversation. */
  readonly isSpoken: boolean;
  /** It begins a new chain and goes on with the conversation, as a compaction does. */
  readonly continues?: boolean | undefined;
}

/** Rows that were read, and what a log says of their place. */
export interface Branch<Entry> {
  /** The entries of the branch that was followed last, in the order of the log. */
  readonly followed: readonly Entry[];
  /** The entries that hold a message of another branch. */
  readonly others: readonly Entry[];
}

/**
 * Finds the branch that ends in the last spoken row. Somebody who goes back and says something else begins another branch at a row
 * that has a child already: what followed on the old one does not count. A row whose parent the log does not have is joined to the
 * nearest spoken row of its session before it, so that a row that was lost costs that row alone. Rows that stand twice count once;
 * `builder` counts them, and the gaps.
 */
export function followedLast<Entry>(
  entries: readonly Entry[],
  rowOf: (entry: Entry) => Row,
  builder: ConversationBuilder,
): Branch<Entry> {
  const rows = distinct(entries, rowOf, builder);
  const places = new Map(rows.map(({ row }, place) => [row.id, place]));
  const placeBefore = ({ id, parent, session, continues }: Row, place: number) => {
    const known = continues || parent == null ? undefined : places.get(parent);
    if (known !== undefined) return known;
    if (parent != null && id !== undefined && !continues) builder.unread('gap in the chain of rows');
    for (let before = place - 1; ; before--) {
      const row = rows[before]?.row;
      if (row === undefined || (row.isSpoken && isSame(row.session, session))) return before;
    }
  };
  const branch = new Set<number>();
  for (let place = rows.findLastIndex(({ row }) => row.isSpoken); !branch.has(place); ) {
    const found = rows[place];
    if (found === undefined) break;
    branch.add(place);
    place = placeBefore(found.row, place);
  }
  return {
    followed: rows.flatMap(({ entry }, place) => (branch.has(place) ? [entry] : [])),
    others: rows.flatMap(({ entry, row }, place) => (row.isSpoken && !branch.has(place) ? [entry] : [])),
  };
}

function isSame(one: string | undefined, other: string | undefined): boolean {
  return one === undefined || other === undefined || one === other;
}

function distinct<Entry>(
  entries: readonly Entry[],
  rowOf: (entry: Entry) => Row,
  builder: ConversationBuilder,
): readonly { readonly entry: Entry; readonly row: Row }[] {
  const seen = new Set<string>();
  return entries.flatMap((entry) => {
    const row = rowOf(entry);
    if (row.id !== undefined && seen.has(row.id)) {
      builder.unread('row that stands twice');
      return [];
    }
    if (row.id !== undefined) seen.add(row.id);
    return [{ entry, row }];
  });
}
