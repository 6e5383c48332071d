import type { Workspace } from '@x/core';
import { CORE_FILE, memoryFiles, readIfFound } from '../memory-files.js';
import {
  type Bullet,
  bulletsOf,
  confirmed,
  factKey,
  hashIn,
  keyHash,
  parseNoteLine,
  withoutSaid,
  withoutShownMarks,
} from '../notes.js';
import { type CoreOptions, NO_ROOM, RETIRED_FILE } from './core-file.js';
import type { MemoryState } from './memory-state.js';
import { PREVIOUS_FILE } from './replace-core.js';

/** The result of changing a fact. */
export interface FactOutcome {
  /**
   * `known`: the fact was saved before. `missing`: there is no such fact. `ambiguous`: several facts match, so pass the whole text of one.
   * `refused`: a person wrote the fact, and only a person may change it.
   */
  readonly status: 'done' | 'unconfirmed' | 'known' | 'missing' | 'ambiguous' | 'refused';
  /** The facts that match. */
  readonly facts: readonly string[];
  /** The files in which the fact was saved. */
  readonly paths?: readonly string[] | undefined;
}

/** Matches the end of a retired fact: its days and the reason. */
export const RETIRED = / \(((?:\d{4}-\d\d-\d\d )?to \d{4}-\d\d-\d\d); (.*)\)$/;
/** Scripts without spaces between words. */
const UNSPACED = '\\p{sc=Han}\\p{sc=Hira}\\p{sc=Kana}\\p{sc=Thai}\\p{sc=Lao}\\p{sc=Khmr}\\p{sc=Mymr}';

/** Returns a test for texts that contain all words of a query, in any order. */
function hasWordsOf(query: string): (text: string) => boolean {
  const letter = `(?![${UNSPACED}])[\\p{L}\\p{M}\\p{N}_]`;
  const said = query
    .split(' ')
    .map((word) => word.replace(/^["'(«„“]+|(?<!["')»”,.;:?!])["')»”,.;:?!]+$/gu, ''));
  const words = [...new Set(said)].filter(Boolean).map((word) => {
    const escaped = word.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
    const [before, after] = [`^${letter}`, `${letter}$`].map((edge) => new RegExp(edge, 'u').test(escaped));
    return new RegExp(`${before ? `(?<!${letter})` : ''}${escaped}${after ? `(?!${letter})` : ''}`, 'u');
  });
  return (text) => words.length > 0 && words.every((word) => word.test(text));
}

/** Returns the bullet with exactly this text. If there is none, returns all bullets that contain its words. */
export function pick<Found extends Bullet>(bullets: readonly Found[], query: string): readonly Found[] {
  const key = factKey(withoutShownMarks(query));
  if (key === '') return [];
  const hasWords = hasWordsOf(key.toLowerCase());
  const exact = bullets.filter((bullet) => bullet.key === key);
  const found = exact.length > 0 ? exact : bullets.filter((bullet) => hasWords(bullet.key.toLowerCase()));
  return [...new Map(found.map((bullet) => [bullet.key, bullet])).values()];
}

/** The outcome if not exactly one fact was found. */
export function outcomeOf(found: readonly Pick<Bullet, 'text'>[]): FactOutcome {
  return { status: found.length === 0 ? 'missing' : 'ambiguous', facts: found.map(({ text }) => text) };
}

/** Returns the bullets of notes, archive and retired facts, whether a person wrote each of them, and why it was retired. */
export async function notedBullets(workspace: Workspace, prefix: string) {
  const found: (Bullet & { readonly isByPerson: boolean; readonly why?: string | undefined })[] = [];
  const add = (whole: string, isNote: boolean) => {
    for (const bullet of bulletsOf(whole)) {
      const isByPerson = isNote && parseNoteLine(bullet.whole).author === 'person';
      const text = isNote ? bullet.text : bullet.text.replace(RETIRED, '');
      const why = isNote ? undefined : RETIRED.exec(bullet.text)?.[2];
      found.push({ ...bullet, text, key: factKey(confirmed(text)), isByPerson, why });
    }
  };
  for await (const { path } of memoryFiles(workspace, prefix)) {
    if (path === `${prefix}${CORE_FILE}`) continue;
    add((await readIfFound(workspace, path)) ?? '', path !== `${prefix}${RETIRED_FILE}`);
  }
  return found;
}

/** Finds the valid facts in the notes that match a query. For a note line that was merged into a fact, returns that fact. */
export async function pickNoted(
  { workspace, prefix }: Pick<CoreOptions, 'workspace' | 'prefix'>,
  state: MemoryState,
  query: string,
) {
  const noted = await notedBullets(workspace, prefix);
  const reasons = new Map(noted.flatMap(({ key, why }) => (why === undefined ? [] : [[key, why]])));
  const mergedFrom = new Map(state.facts.flatMap((fact) => fact.from.map((from) => [hashIn(from), fact])));
  const found = pick(noted, query).flatMap((bullet) => {
    const hash = keyHash(bullet.key);
    const merged = mergedFrom.get(hash);
    if (merged !== undefined) return { ...merged, key: factKey(merged.text), isByPerson: false };
    return hash in state.gone && reasons.get(bullet.key) !== NO_ROOM ? [] : bullet;
  });
  return [...new Map(found.map((one) => [one.key, one])).values()];
}

/** Removes facts, by the hashes of their keys, from every file of a scope. */
export async function forgetLines(
  { workspace, prefix }: CoreOptions,
  hashes: Readonly<Record<string, unknown>>,
): Promise<void> {
  const isGoneText = (text: string) => keyHash(factKey(confirmed(text))) in hashes;
  // A retired fact ends with its days and the reason.
  const isGone = (text: string) => isGoneText(text) || isGoneText(text.replace(RETIRED, ''));
  const withoutReason = (line: string) =>
    line.replace(RETIRED, (whole, days: string, why: string) =>
      [why, ...why.split('; ')].some((part) => isGoneText(part.replace(/^now: /, '')))
        ? ` (${days}; forgotten)`
        : whole,
    );
  for await (const { path } of memoryFiles(workspace, prefix)) {
    const text = (await readIfFound(workspace, path)) ?? '';
    const isRetired = path === `${prefix}${RETIRED_FILE}`;
    const rest = withoutSaid(text, isGone);
    const left = isRetired ? rest.split('\n').map(withoutReason).join('\n') : rest;
    if (left !== text) await workspace.write(path, left);
  }
  await workspace.delete(`${prefix}${PREVIOUS_FILE}`);
  await workspace.delete(`${prefix}memory/.sections`);
}
