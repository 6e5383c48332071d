import { isDeepStrictEqual } from 'node:util';
import { estimateCounter } from '@x/core';
import { exclusively, memoryLock } from '../exclusively.js';
import { dayIn } from '../index/dates.js';
import { appendLines, CORE_FILE, MAX_CORE_BYTES, readCore, writeJson } from '../memory-files.js';
import { bulletsOf, factKey, factKeys, hashIn, keyHash } from '../notes.js';
import type { MemoryServiceSettings } from '../settings.js';
import { addedLines, changeCore, mergeText } from './core-text.js';
import {
  type FlushProgress,
  type MemoryState,
  type PendingChange,
  readState,
  type StoredFact,
  writeState,
} from './memory-state.js';
import { replaceFile } from './replace-core.js';

/** Retired facts, with the days on which they were said and retired. They can be read and searched, but are not in the system prompt. */
export const RETIRED_FILE = 'memory/retired.md';
/** The reason in retired.md for a fact that left MEMORY.md because the file was full. The fact is still true. */
export const NO_ROOM = 'no room';
/** Maximum number of attempts to replace MEMORY.md while a person keeps saving it. */
const MAX_ROUNDS = 10;
/** Maximum number of facts that are remembered after they left MEMORY.md. */
const MAX_LOST = 200;

/** The text of a scope's MEMORY.md (empty if there is no file) and its state. */
export type Core = { readonly text: string; readonly state: MemoryState };

/** The key of a bullet that is no longer true, with the fact that replaces it or the reason. */
export interface Retired {
  readonly key: string;
  /** The bullet, if it is in a note and not in MEMORY.md. */
  readonly noted?: Pick<StoredFact, 'text'> | undefined;
  readonly by?: StoredFact | undefined;
  readonly why?: string;
}

/** A change of the memory. If the process crashes while it writes, the next process finishes the change. */
interface MemoryChange {
  readonly add?: readonly StoredFact[];
  readonly retire?: readonly Retired[];
  /** Lines to append, by path below the prefix. */
  readonly lines?: Readonly<Record<string, readonly string[]>>;
  /** Hashes of retired or forgotten facts that may be added again because a person repeated them. */
  readonly again?: ReadonlySet<string>;
  /** How far facts were read from a session's messages, and the path of the file that stores it. */
  readonly flushed?: { readonly path: string; readonly progress: FlushProgress };
  /** All note lines that have been processed. */
  readonly seen?: readonly string[];
}

/** Options for a change of a memory. `since` is the day and time recorded for facts that are removed now. */
export function coreOptions(
  { workspace, maxMemoryTokens, clock, timeZone }: MemoryServiceSettings,
  prefix: string,
) {
  const now = clock.now();
  const today = dayIn(now, timeZone);
  const since = `${today} ${new Date(now).toISOString()}`;
  return { workspace, prefix, maxMemoryTokens, now, today, since } as const;
}
export type CoreOptions = ReturnType<typeof coreOptions>;

/**
 * Runs a task that may change the memory of a scope, under the scope's lock. First it finishes a change that a crashed process began, and
 * compares MEMORY.md with the stored state: a missing fact was removed by a person.
 */
export async function withCore<T>(
  options: CoreOptions,
  task: (core: Core, change: (change: MemoryChange) => Promise<Core>) => Promise<T>,
): Promise<T> {
  return exclusively(options.workspace, memoryLock(options.prefix), async (check) => {
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
    // These dates come from a clock that was ahead. Set them to now, so that the facts can be added again.
    for (const hash of ahead) state.gone[hash] = since;
    await writeState(workspace, prefix, state);
  }
  return compared(await readCore(workspace, prefix), state, since);
}

/** Updates the state with the changes that a person made to the file. */
function compared(text: string, state: MemoryState, since: string): Core {
  const present = factKeys(text);
  const isThere = (fact: StoredFact) => present.has(factKey(fact.text));
  const away = state.facts.filter((fact) => !isThere(fact));
  const back = state.lost.filter(isThere);
  const facts = [...state.facts.filter(isThere), ...back];
  const lost = [...state.lost.filter((fact) => !isThere(fact)), ...away].slice(-MAX_LOST);
  const gone = { ...state.gone, ...hashesOf(away, since) };
  for (const hash of Object.keys(hashesOf(back, ''))) delete gone[hash];
  return { text, state: { ...state, facts, lost, gone } };
}

/** Reads MEMORY.md as it will be after the pending change, without a lock and without writing. */
export async function peekCore({
  workspace,
  prefix,
  since,
}: Pick<CoreOptions, 'workspace' | 'prefix' | 'since'>): Promise<Core> {
  // Read the text before the state: the state also knows the facts that were removed after that text was written.
  const text = await readCore(workspace, prefix);
  const { pending, ...state } = await readState(workspace, prefix);
  if (pending === undefined) return compared(text, state, since);
  return compared(changeCore(text, pending.edits), { ...state, ...pending.after }, since);
}

async function commit(
  options: CoreOptions,
  { text, state }: Core,
  change: MemoryChange,
  check: () => Promise<void>,
): Promise<Core> {
  const { workspace, prefix, today, since } = options;
  const { add = [], retire = [], lines = {}, again = new Set<string>(), flushed, seen } = change;
  const bullets = bulletsOf(text);
  const known = new Map(state.facts.map((fact) => [factKey(fact.text), fact]));
  const retired = retire.flatMap((one) => {
    const old = known.get(one.key) ?? bullets.find(({ key }) => key === one.key) ?? one.noted;
    return old === undefined ? [] : [{ ...one, old }];
  });
  const edits = {
    replace: retired.map(({ key, by }) => ({ key, text: by?.text })),
    add: add.map((fact) => fact.text),
    drop: [] as string[],
  };
  const left = state.facts.filter((fact) => !retired.some(({ old }) => old === fact));
  // An existing bullet keeps its mark of who wrote it (a model or a person), even if the other one repeats it.
  const present = new Set(bullets.map(({ key }) => key));
  for (const { key } of retired) present.delete(key);
  const newer = [...retired.flatMap(({ key, by }) => (known.has(key) && by) || []), ...add];
  const facts = [...left, ...newer.filter((fact) => !present.has(factKey(fact.text)))];
  const dropped = withoutRoom(changeCore(text, edits), facts, options.maxMemoryTokens);
  edits.drop = dropped.map((fact) => factKey(fact.text));
  const kept = facts.filter((fact) => !dropped.includes(fact));
  const keptKeys = new Set(kept.map((fact) => factKey(fact.text)));
  const away = [...state.facts.filter((fact) => !left.includes(fact)), ...dropped];
  const lost = [...state.lost, ...away].filter((fact) => !keptKeys.has(factKey(fact.text))).slice(-MAX_LOST);
  const gone = { ...state.gone, ...hashesOf([...retired.map(({ old }) => old), ...dropped], since) };
  for (const hash of [...again, ...[...keptKeys].map(keyHash)]) delete gone[hash];
  const after = {
    ...state,
    facts: kept,
    lost,
    gone,
    seen: (seen ?? state.seen).filter((from) => !again.has(hashIn(from))),
  };
  const reasons = [
    ...retired.map(({ old, by, why = '' }) => retiredLine(old, today, by ? `now: ${by.text}` : why)),
    ...dropped.map((fact) => retiredLine(fact, today, NO_ROOM)),
  ];
  const appended = { ...lines, ...(reasons.length > 0 ? { [RETIRED_FILE]: reasons } : {}) };
  const pending: PendingChange = { lines: {}, edits, ...(flushed && { flushed }), after };
  for (const [path, some] of Object.entries(appended)) if (some.length > 0) pending.lines[path] = [...some];
  if (newer.length > 0 || Object.keys(pending.lines).length > 0) {
    await writeState(workspace, prefix, { ...state, pending });
    return finish(options, state, pending, check);
  }
  await check();
  if (flushed !== undefined) await writeJson(workspace, flushed.path, flushed.progress);
  if (!isDeepStrictEqual(after, state)) await writeState(workspace, prefix, after);
  return { text, state: after };
}

/** Writes a pending change. Every step can be repeated. */
async function finish(
  options: CoreOptions,
  state: MemoryState,
  { lines, edits, flushed, after }: PendingChange,
  check: () => Promise<void>,
): Promise<Core> {
  const { workspace, prefix } = options;
  await check();
  for (const [path, added] of Object.entries(lines)) await appendLines(workspace, `${prefix}${path}`, added);
  await check();
  const text = await replaceCore(options, (before) => changeCore(before, edits));
  if (flushed !== undefined) await writeJson(workspace, flushed.path, flushed.progress);
  const settled = { ...state, ...after };
  await writeState(workspace, prefix, settled);
  return { text, state: settled };
}

/** Replaces MEMORY.md. If a person saves the file at the same moment, the replaced version has their text, which is then merged. */
async function replaceCore(
  { workspace, prefix }: CoreOptions,
  edit: (before: string) => string,
): Promise<string> {
  let before = await readCore(workspace, prefix);
  let after = edit(before);
  for (let round = 0; round < MAX_ROUNDS && after !== before; round++) {
    const late = await replaceFile(workspace, prefix, before, after);
    if (late === before) return after;
    const current = await readCore(workspace, prefix);
    after = mergeText(before, late, current);
    before = current;
  }
  if (after === before) return after;
  // The person keeps saving the file. Appending does not overwrite their text.
  const added = addedLines(before, after).map(({ line }) => `${line}\n`);
  await workspace.append(`${prefix}${CORE_FILE}`, `\n${added.join('')}`);
  return readCore(workspace, prefix);
}

/** Returns the facts to remove from a text that is too long, oldest first. Lines that a person wrote are kept. */
function withoutRoom(text: string, facts: readonly StoredFact[], maxTokens: number): StoredFact[] {
  let [least, most] = [0, facts.length];
  for (let middle = 0; least < most; middle = Math.floor((least + most) / 2)) {
    const drop = facts.slice(0, middle).map((fact) => factKey(fact.text));
    const left = changeCore(text, { replace: [], add: [], drop });
    const fits = estimateCounter.count(left) <= maxTokens && Buffer.byteLength(left) <= MAX_CORE_BYTES;
    if (fits) most = middle;
    else least = middle + 1;
  }
  return facts.slice(0, most);
}

function retiredLine({ text, saidOn = '' }: Partial<StoredFact>, today: string, why: string): string {
  return `- ${text} (${`${saidOn} to ${today}`.trim()}; ${why})`;
}

/** Maps the hashes of facts, and of the note lines that they come from, to the time at which they were removed. */
export function hashesOf(
  facts: readonly (Pick<StoredFact, 'text'> & Partial<StoredFact>)[],
  since: string,
): Record<string, string> {
  const hashes = facts.flatMap(({ text, from = [] }) => [keyHash(factKey(text)), ...from.map(hashIn)]);
  return Object.fromEntries(hashes.map((hash) => [hash, since]));
}
