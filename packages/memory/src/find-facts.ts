import type { Workspace } from '@x/core';
import { type Bullet, bulletsOf, factKey, keyHash } from './bullets.js';
import { type CoreOptions, RETIRED_FILE } from './consolidate/core-file.js';
import { deleteVersion, listVersions, readVersion } from './consolidate/versions.js';
import { exclusively, noteLock } from './exclusively.js';
import { memoryFiles, readIfFound } from './memory-files.js';
import { parseNoteLine } from './note-line.js';

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

/** A text without the bullets of some keys; of what was retired, also without those that begin with them. */
function withoutLines(text: string, hashes: ReadonlySet<string>): string {
  const gone = new Set<number>();
  for (const { key, start, end } of bulletsOf(text)) {
    const retired = key.replace(/ \((?:\d{4}-\d\d-\d\d )?to \d{4}-\d\d-\d\d;.*$/, '');
    if (!hashes.has(keyHash(key)) && !hashes.has(keyHash(factKey(retired)))) continue;
    for (let number = start; number < end; number++) gone.add(number);
  }
  return gone.size === 0
    ? text
    : text
        .split('\n')
        .filter((_, number) => !gone.has(number))
        .join('\n');
}

/** Whether a line of a note was written by a person. */
export async function isByPerson(workspace: Workspace, prefix: string, key: string): Promise<boolean> {
  for await (const { path } of memoryFiles(workspace, prefix)) {
    if (path === `${prefix}${RETIRED_FILE}`) continue;
    const text = (await readIfFound(workspace, path)) ?? '';
    const lines = text.split('\n');
    const isHere = bulletsOf(text).some(
      (bullet) => bullet.key === key && parseNoteLine(lines[bullet.start] ?? '').author === 'person',
    );
    if (isHere) return true;
  }
  return false;
}

/** Takes lines out of every file of a scope: memory, notes, archive, retired facts and versions. */
export async function forgetLines(options: CoreOptions, hashes: ReadonlySet<string>): Promise<void> {
  const { workspace, prefix } = options;
  await exclusively(workspace, noteLock(prefix), async () => {
    for await (const { path } of memoryFiles(workspace, prefix)) {
      const text = (await readIfFound(workspace, path)) ?? '';
      const left = withoutLines(text, hashes);
      if (left !== text) await workspace.write(path, left);
    }
  });
  for (const { id } of await listVersions(workspace, prefix)) {
    const version = await readVersion(workspace, prefix, id);
    if (version === undefined || withoutLines(version.text, hashes) !== version.text) {
      await deleteVersion(workspace, prefix, id);
    }
  }
  await workspace.delete(`${prefix}memory/.sections`);
}
