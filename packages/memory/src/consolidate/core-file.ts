import { isDeepStrictEqual } from 'node:util';
import { estimateCounter, type Workspace } from '@x/core';
import { exclusively, memoryLock } from '../exclusively.js';
import { dayIn } from '../index/dates.js';
import { appendLine, CORE_FILE, readIfFound } from '../memory-files.js';
import { bulletsOf, factKey, factKeys, keyHash } from '../notes.js';
import type { MemoryServiceSettings } from '../settings.js';
import { addedLines, changeCore, mergeText } from './core-text.js';
import {
  dropOldVersions,
  type KnownFacts,
  type MemoryState,
  readState,
  type StoredFact,
  writeCore,
  writeState,
} from './memory-state.js';
import { hashIn } from './new-notes.js';

/** What was in MEMORY.md and is no longer true, with its days: readable and searchable, not in front of the agent. */
export const RETIRED_FILE = 'memory/retired.md';
/** So often a person may save the file at the very moment at which it is replaced. */
const MAX_ROUNDS = 10;

/** MEMORY.md of a scope, empty where there is no file, and what is known of it. */
export type Core = { readonly text: string; readonly state: MemoryState };

/** A bullet that holds no more, by its key, and what replaces it or why it goes. */
export interface Retired {
  readonly key: string;
  readonly by?: StoredFact | undefined;
  readonly why?: string;
}

/** A change of facts. */
interface FactChange {
  readonly add?: readonly StoredFact[];
  readonly retire?: readonly Retired[];
  /** What of the notes has been considered once this is written. */
  readonly notes?: { readonly seen: readonly string[]; readonly more: boolean };
}

/** What a change of the MEMORY.md at a place needs, with the day, and the moment since which a fact is gone that goes now. */
export function coreOptions(
  { workspace, maxMemoryTokens, keepVersions, clock, timeZone }: MemoryServiceSettings,
  prefix: string,
) {
  const now = clock.now();
  const today = dayIn(now, timeZone);
  const since = `${today} ${new Date(now).toISOString()}`;
  return { workspace, prefix, maxMemoryTokens, keepVersions, now, today, since } as const;
}
export type CoreOptions = ReturnType<typeof coreOptions>;

/**
 * Runs a task that may change the MEMORY.md of a scope, alone. What a process that died was about to write is written
 * first, and what a person did to the file is taken note of: a fact that is not there any more was retired by them.
 */
export async function withCore<T>(
  options: CoreOptions,
  task: (core: Core, change: (change: FactChange) => Promise<Core>) => Promise<T>,
): Promise<T> {
  const { workspace, prefix } = options;
  return exclusively(workspace, memoryLock(prefix), async (check) => {
    const core = await settle(options, check);
    return task(core, (change) => commit(options, core, change, check));
  });
}

async function settle(options: CoreOptions, check: () => Promise<void>): Promise<Core> {
  const { workspace, prefix, since } = options;
  const { pending, ...state } = await readState(workspace, prefix);
  if (pending !== undefined) return finish(options, state, pending, check);
  const ahead = Object.keys(state.gone).filter((hash) => (state.gone[hash] ?? '') > since);
  if (ahead.length > 0) {
    // By a clock that was ahead. What is said from now on is heard.
    for (const hash of ahead) state.gone[hash] = since;
    await writeState(workspace, prefix, state);
  }
  return compared(await readCore(workspace, prefix), state, since);
}

/** Takes note of what a person did to the file. */
function compared(text: string, state: MemoryState, since: string): Core {
  const present = factKeys(text);
  const isThere = (fact: StoredFact) => present.has(factKey(fact.text));
  const away = state.facts.filter((fact) => !isThere(fact));
  const back = state.lost.filter(isThere);
  const facts = [...state.facts.filter(isThere), ...back];
  const lost = [...state.lost.filter((fact) => !isThere(fact)), ...away];
  const gone = { ...state.gone, ...hashesOf(away, since) };
  for (const hash of Object.keys(hashesOf(back, ''))) delete gone[hash];
  return { text, state: { ...state, facts, lost, gone } };
}

/** Reads the MEMORY.md of a scope as it is once what is pending is written. Takes no lock, and writes nothing. */
export async function peekCore({ workspace, prefix, since }: CoreOptions): Promise<Core> {
  let known = await readState(workspace, prefix);
  for (let round = 0; ; round++) {
    const text = await readCore(workspace, prefix);
    const later = await readState(workspace, prefix);
    // Else somebody has changed one of the two in between.
    if (round === MAX_ROUNDS || isDeepStrictEqual(known, later)) {
      const { pending, ...state } = later;
      if (pending === undefined) return compared(text, state, since);
      return compared(changeCore(text, pending.change), { ...state, ...pending.after }, since);
    }
    known = later;
  }
}

/** Hears facts again, by the hashes of their keys, that were retired or forgotten before somebody said them once more. */
export async function hearAgain(options: CoreOptions, hashes: ReadonlySet<string>): Promise<void> {
  if (hashes.size === 0) return;
  await withCore(options, async ({ state }) => {
    const gone = Object.fromEntries(Object.entries(state.gone).filter(([hash]) => !hashes.has(hash)));
    const seen = state.seen.filter((from) => !hashes.has(hashIn(from)));
    await writeState(options.workspace, options.prefix, { ...state, gone, seen });
  });
}

async function commit(
  options: CoreOptions,
  { text, state }: Core,
  { add = [], retire = [], notes }: FactChange,
  check: () => Promise<void>,
): Promise<Core> {
  const { workspace, prefix, today, now } = options;
  const bullets = bulletsOf(text);
  const known = new Map(state.facts.map((fact) => [factKey(fact.text), fact]));
  const retired = retire.flatMap((one) => {
    const old = known.get(one.key) ?? bullets.find(({ key }) => key === one.key);
    return old === undefined ? [] : [{ ...one, old }];
  });
  const change = {
    replace: retired.map(({ key, by }) => ({ key, text: by?.text })),
    add: add.map((fact) => fact.text),
    drop: [] as string[],
  };
  const left = state.facts.filter((fact) => !retired.some(({ old }) => old === fact));
  // A bullet that is there already stays whose it is, whoever says the same; so does one that a person has corrected.
  const present = new Set(bullets.map(({ key }) => key));
  for (const { key } of retired) present.delete(key);
  const newer = [...retired.flatMap(({ key, by }) => (known.has(key) && by) || []), ...add];
  const facts = [...left, ...newer.filter((fact) => !present.has(factKey(fact.text)))];
  const dropped = withoutRoom(changeCore(text, change), facts, options.maxMemoryTokens);
  change.drop = dropped.map((fact) => factKey(fact.text));
  const kept = facts.filter((fact) => !dropped.includes(fact));
  const goneNow = [...retired.map(({ old }) => old), ...dropped];
  const gone = { ...state.gone, ...hashesOf(goneNow, options.since) };
  for (const fact of kept) delete gone[keyHash(factKey(fact.text))];
  const lines = [
    ...retired.map(({ old, by, why = '' }) => retiredLine(old, today, by ? `now: ${by.text}` : why)),
    ...dropped.map((fact) => retiredLine(fact, today, 'no room')),
  ];
  const { pending: _, version: __, ...rest } = state;
  const again = new Set(kept.map((fact) => factKey(fact.text)));
  const lost = state.lost.filter((fact) => !again.has(factKey(fact.text)));
  const after = { ...rest, facts: kept, lost, gone };
  if (notes !== undefined) {
    const [consolidatedAt, rereads] = [new Date(now).toISOString(), state.rereads && notes.more];
    Object.assign(after, { seen: notes.seen, rereads, consolidatedAt, refusals: 0 });
  }
  if (newer.length > 0 || lines.length > 0) {
    const pending = { change, retired: lines, after };
    await writeState(workspace, prefix, { ...state, pending });
    return finish(options, state, pending, check);
  }
  const settled = { ...state, ...after };
  await writeState(workspace, prefix, settled);
  return { text, state: settled };
}

/** Writes what is pending. Every step may have been done before. */
async function finish(
  options: CoreOptions,
  state: MemoryState,
  { change, retired, after }: NonNullable<MemoryState['pending']>,
  check: () => Promise<void>,
): Promise<Core> {
  const { workspace, prefix } = options;
  const known = (await readIfFound(workspace, `${prefix}${RETIRED_FILE}`)) ?? '';
  for (const line of retired) {
    if (!known.includes(`${line}\n`)) await appendLine(workspace, `${prefix}${RETIRED_FILE}`, line);
  }
  await check();
  const text = await replaceCore(options, state, (before) => changeCore(before, change));
  const settled = { ...state, ...after };
  await writeState(workspace, prefix, settled);
  await dropOldVersions(options);
  return { text, state: settled };
}

/** Replaces MEMORY.md. Who saves it meanwhile needs no lock: what they saved is found in the version, and merged. */
export async function replaceCore(
  options: CoreOptions,
  known: KnownFacts,
  edit: (before: string) => string,
): Promise<string> {
  const { workspace, prefix, now } = options;
  let before = await readCore(workspace, prefix);
  let after = edit(before);
  for (let round = 0; round < MAX_ROUNDS && after !== before; round++) {
    const at = new Date(now + round).toISOString();
    const late = await writeCore(options, known, before, after, at);
    if (late === before) return after;
    const current = await readCore(workspace, prefix);
    after = mergeText(before, late, current);
    before = current;
  }
  if (after === before) return after;
  // A person who never pauses is not raced any longer: appending replaces nothing that they have open.
  await appendLine(workspace, `${prefix}${CORE_FILE}`, addedLines(before, after).join('\n'));
  return readCore(workspace, prefix);
}

async function readCore(workspace: Workspace, prefix: string): Promise<string> {
  return (await readIfFound(workspace, `${prefix}${CORE_FILE}`)) ?? '';
}

/** Returns the facts to remove from a text that is too long, oldest first. Lines that a person wrote stay. */
function withoutRoom(text: string, facts: readonly StoredFact[], maxTokens: number): StoredFact[] {
  let [least, most] = [0, facts.length];
  for (let middle = 0; least < most; middle = Math.floor((least + most) / 2)) {
    const drop = facts.slice(0, middle).map((fact) => factKey(fact.text));
    const left = changeCore(text, { replace: [], add: [], drop });
    if (estimateCounter.count(left) <= maxTokens) most = middle;
    else least = middle + 1;
  }
  return facts.slice(0, most);
}

function retiredLine({ text, saidOn = '' }: Partial<StoredFact>, today: string, why: string): string {
  return `- ${text} (${`${saidOn} to ${today}`.trim()}; ${why})`;
}

/** The hashes under which facts, and the lines of notes that they come from, are known as gone. */
export function hashesOf(
  facts: readonly (Pick<StoredFact, 'text'> & Partial<StoredFact>)[],
  since: string,
): Record<string, string> {
  const hashes = facts.flatMap(({ text, from = [] }) => [keyHash(factKey(text)), ...from.map(hashIn)]);
  return Object.fromEntries(hashes.map((hash) => [hash, since]));
}
