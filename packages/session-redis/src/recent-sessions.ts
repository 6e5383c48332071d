import type { ListPosition } from '@x/core/store';
import type { RedisClient } from './redis-client.js';
import { runScript } from './scripts/run-script.js';
import { recentScript } from './scripts/sessions.js';

/** Entries that one request reads per index: many from a single index (`ALONE`), few from each of several (`TOGETHER`). */
const ALONE = 200;
const TOGETHER = 8;

interface Index {
  readonly name: string;
  /** Entries that were read but not returned yet, newest last. */
  readonly ahead: ListPosition[];
  /** Position after which reading continues. */
  behind: ListPosition | undefined;
  isRead: boolean;
}

/** Merges indexes. Yields their entries after a position, newest first. The id of an entry is its member. */
export async function* recentSessions(
  client: RedisClient,
  names: readonly string[],
  behind: ListPosition | undefined,
): AsyncGenerator<ListPosition, void, undefined> {
  const size = names.length === 1 ? ALONE : TOGETHER;
  const indexes = names.map((name): Index => ({ name, ahead: [], behind, isRead: false }));
  for (;;) {
    const empty = indexes.filter(({ ahead, isRead }) => ahead.length === 0 && !isRead);
    // The slots of a Cluster are on several machines. A single server answers for all indexes in one round trip.
    const together = client.isCluster === false ? [empty] : empty.map((index) => [index]);
    await Promise.all(together.map((group) => readOn(client, group, size)));
    let newest: Index | undefined;
    for (const index of indexes) {
      const next = index.ahead.at(-1);
      if (next !== undefined && isBehind(newest?.ahead.at(-1), next)) newest = index;
    }
    const next = newest?.ahead.pop();
    if (next === undefined) return;
    yield next;
  }
}

async function readOn(client: RedisClient, indexes: readonly Index[], size: number): Promise<void> {
  let left = indexes;
  // Entries of the same millisecond are read again and skipped.
  for (let offset = 0; left.length > 0; offset += size) {
    const names = left.map(({ name }) => name);
    const from = left.map(({ behind }) => (behind === undefined ? '+inf' : String(behind.time)));
    const reply = await runScript(client, recentScript, names, [String(offset), String(size), ...from]);
    for (const [number, index] of left.entries()) {
      const texts = ((reply as unknown[][])[number] ?? []).map(String);
      for (let at = 0; at < texts.length; at += 2) {
        const entry = { id: texts[at] ?? '', time: Number(texts[at + 1]) };
        if (index.behind === undefined || isBehind(entry, index.behind)) index.ahead.unshift(entry);
      }
      index.isRead = texts.length < 2 * size;
    }
    left = left.filter(({ ahead, isRead }) => ahead.length === 0 && !isRead);
  }
  for (const index of indexes) index.behind = index.ahead[0];
}

/** Tests if an entry comes after another one in the listing. `undefined` comes after every entry. */
function isBehind(entry: ListPosition | undefined, other: ListPosition): boolean {
  if (entry === undefined) return true;
  return entry.time < other.time || (entry.time === other.time && entry.id < other.id);
}
