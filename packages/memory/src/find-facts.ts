import type { Workspace } from '@x/core';
import { type CoreOptions, RETIRED_FILE } from './consolidate/core-file.js';
import { deleteVersion, listVersions, readVersion } from './consolidate/versions.js';
import { exclusively, noteLock } from './exclusively.js';
import { CORE_FILE, memoryFiles, readIfFound } from './memory-files.js';
import { type Bullet, bulletsOf, factKey, keyHash, parseNoteLine, withoutBullets } from './notes.js';

/** What came of changing a fact. */
export interface FactOutcome {
  /**
   * `known`: it was remembered already. `missing`: there is no such fact. `ambiguous`: several match, name one by its whole
   * text. `refused`: a person wrote it, and only a person may change it.
   */
  readonly status: 'done' | 'known' | 'missing' | 'ambiguous' | 'refused';
  /** The facts that match. */
  readonly facts: readonly string[];
  /** The files that a fact was saved in. */
  readonly paths?: readonly string[] | undefined;
}

/** The bullets that say what is meant: the one with exactly that text, or all that have the words. */
export function pick(bullets: readonly Bullet[], query: string): readonly Bullet[] {
  const key = factKey(query);
  if (key === '') return [];
  const exact = bullets.filter((bullet) => bullet.key === key);
  const found = exact.length > 0 ? exact : bullets.filter((bullet) => bullet.key.includes(key));
  return [...new Map(found.map((bullet) => [bullet.key, bullet])).values()];
}

/** What it comes to when not exactly one fact was found. */
export function outcomeOf(found: readonly Bullet[]): FactOutcome {
  return { status: found.length === 0 ? 'missing' : 'ambiguous', facts: found.map(({ text }) => text) };
}

/** The bullets of the notes, the archive and what was retired, each with whether a person wrote the line. */
export async function notedBullets(workspace: Workspace, prefix: string) {
  const found: (Bullet & { readonly isByPerson: boolean })[] = [];
  for await (const { path } of memoryFiles(workspace, prefix)) {
    if (path === `${prefix}${CORE_FILE}`) continue;
    const text = (await readIfFound(workspace, path)) ?? '';
    const lines = text.split('\n');
    const isNote = path !== `${prefix}${RETIRED_FILE}`;
    for (const bullet of bulletsOf(text)) {
      const isByPerson = isNote && parseNoteLine(lines[bullet.start] ?? '').author === 'person';
      found.push({ ...bullet, isByPerson });
    }
  }
  return found;
}

/** Takes facts, by the hashes of their keys, out of every file of a scope: memory, notes, archive, retired facts, versions. */
export async function forgetLines(
  { workspace, prefix }: CoreOptions,
  hashes: Readonly<Record<string, unknown>>,
): Promise<void> {
  // What was retired has its days and the reason behind it.
  const isGone = (key: string) =>
    keyHash(key) in hashes ||
    keyHash(factKey(key.replace(/ \((?:\d{4}-\d\d-\d\d )?to \d{4}-\d\d-\d\d;.*$/, ''))) in hashes;
  await exclusively(workspace, noteLock(prefix), async () => {
    for await (const { path } of memoryFiles(workspace, prefix)) {
      const text = (await readIfFound(workspace, path)) ?? '';
      const left = withoutBullets(text, isGone);
      if (left !== text) await workspace.write(path, left);
    }
  });
  for (const { id } of await listVersions(workspace, prefix)) {
    const version = await readVersion(workspace, prefix, id);
    if (version === undefined || withoutBullets(version.text, isGone) !== version.text) {
      await deleteVersion(workspace, prefix, id);
    }
  }
  await workspace.delete(`${prefix}memory/.sections`);
}
