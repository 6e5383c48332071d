import type { Workspace } from '@x/core';
import { UNCONFIRMED } from '@x/core/internal';
import { CORE_FILE, readIfFound } from '../memory-files.js';
import type { MemoryHit } from '../memory-index.js';
import { bulletsOf, confirmed, factKey, hashIn, isHeading, keyHash, saidIn } from '../notes.js';
import { type Core, NO_ROOM, RETIRED_FILE } from './core-file.js';
import { RETIRED } from './find-facts.js';

/** A search hit with the current text of its line. */
export interface StandingHit extends MemoryHit {
  /** For a retired fact: the fact that replaced it, or the reason why it was retired. */
  readonly retired?: string | undefined;
}

/** In retired.md, comes before the text of the replacement. */
const NOW = 'now: ';
/** The reason for a fact that a person deleted or changed in MEMORY.md. */
const REMOVED = 'removed from MEMORY.md';

/**
 * Sorts hits by how far they can be trusted, and removes duplicates and headings. A fact that is in MEMORY.md is returned from there. A
 * retired fact follows its replacement, which is added if the search did not find it. Other retired facts come last.
 *
 * @param hits the best first.
 */
export async function standingHits(
  workspace: Workspace,
  prefix: string,
  hits: readonly MemoryHit[],
  { text, state }: Core,
): Promise<readonly StandingHit[]> {
  const retired = retiredFacts((await readIfFound(workspace, `${prefix}${RETIRED_FILE}`)) ?? '');
  for (const hash of Object.keys(state.gone)) if (!retired.has(hash)) retired.set(hash, REMOVED);
  for (const [hash, why] of retired) if (why === NO_ROOM) retired.delete(hash);
  // A note may word a fact differently from MEMORY.md.
  for (const fact of [...state.lost, ...state.facts]) {
    const why = retired.get(keyHash(factKey(fact.text)));
    if (why !== undefined) for (const from of fact.from) retired.set(hashIn(from), why);
  }
  const inCore = new Map(bulletsOf(text).map((bullet) => [bullet.key, bullet]));
  const path = `${prefix}${CORE_FILE}`;
  const standing = new Map<string, StandingHit>();
  const add = (hit: MemoryHit, rank: number) => {
    const said = hit.path === `${prefix}${RETIRED_FILE}` ? hit.content.replace(RETIRED, '') : hit.content;
    const bare = saidIn(said);
    const key = factKey(confirmed(bare));
    const why = inCore.has(key) ? undefined : retired.get(keyHash(key));
    const newer = why?.startsWith(NOW)
      ? inCore.get(currentKey(why.slice(NOW.length), retired, inCore))
      : undefined;
    if (newer !== undefined && !standing.has(newer.key))
      standing.set(newer.key, { path, lineNumber: newer.start + 1, content: newer.whole, rank });
    const known = standing.get(key);
    if (known === undefined)
      standing.set(key, {
        ...hit,
        content: said,
        ...(why && { retired: newer ? `${NOW}${newer.text}` : why }),
      });
    else if (known.path !== path && (hit.path === path || saidIn(known.content).startsWith(UNCONFIRMED)))
      standing.set(key, { ...hit, rank: known.rank });
  };
  for (const hit of hits) if (!isHeading(hit.content)) add(hit, hit.rank);
  const found = [...standing.values()];
  const isLast = ({ retired: why = NOW }: StandingHit) => !why.startsWith(NOW);
  return [...found.filter((hit) => !isLast(hit)), ...found.filter(isLast)];
}

/** Follows replacements to the current fact. */
function currentKey(
  text: string,
  retired: ReadonlyMap<string, string>,
  inCore: ReadonlyMap<string, unknown>,
): string {
  let key = factKey(text);
  for (const seen = new Set<string>(); !inCore.has(key) && !seen.has(key); ) {
    seen.add(key);
    const why = retired.get(keyHash(key));
    if (why?.startsWith(NOW)) key = factKey(why.slice(NOW.length));
  }
  return key;
}

/** Maps the hash of a fact's key to the reason in retired.md. If there are several reasons, the latest counts. */
function retiredFacts(text: string): Map<string, string> {
  return new Map(
    bulletsOf(text).flatMap((bullet): [string, string][] => {
      const why = RETIRED.exec(bullet.text)?.[2];
      return why === undefined ? [] : [[keyHash(factKey(bullet.text.replace(RETIRED, ''))), why]];
    }),
  );
}
