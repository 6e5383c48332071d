import { estimateCounter, type Workspace } from '@x/core';
import { coreLock, exclusively } from '../exclusively.js';
import { appendLine, CORE_FILE, readIfFound } from '../memory-files.js';
import { factKey, factKeys, keyHash } from '../notes.js';
import { addedLines, changeCore, mergeText } from './core-text.js';
import {
  type MemoryState,
  type NotePositions,
  readState,
  type StoredFact,
  writeState,
} from './memory-state.js';
import { dropOldVersions, keepVersion, versionPath } from './versions.js';

/** What was in MEMORY.md and is no longer true, with its days: readable and searchable, not in front of the agent. */
export const RETIRED_FILE = 'memory/retired.md';
/** So often a person may save the file at the very moment at which it is replaced. */
const MAX_ROUNDS = 10;
const IMPORTANT = /^(?:preference|decision)\b|\b(?:always|never|must|prefers?|decided|important)\b/i;

/** MEMORY.md of a scope, as it is and as it is known. */
export interface Core {
  /** Empty where there is no file. */
  readonly text: string;
  readonly state: MemoryState;
}

/** A fact that holds no more, by its id, and what replaces it. */
export interface Retired {
  readonly id: string;
  readonly by?: StoredFact | undefined;
  readonly why: string;
}

/** A change of facts. */
interface FactChange {
  readonly add?: readonly StoredFact[];
  readonly retire?: readonly Retired[];
  /** Where the notes stand once this is written. */
  readonly notes?: NotePositions;
}

export interface CoreOptions {
  readonly workspace: Workspace;
  readonly prefix: string;
  readonly maxTokens: number;
  readonly keepVersions: number;
  readonly now: number;
  readonly today: string;
}

/**
 * Runs a task that may change the MEMORY.md of a scope, alone. What a process that died was about to write is written
 * first, and what a person did to the file is taken note of: a fact that is not there any more was retired by them.
 */
export async function withCore<T>(
  options: CoreOptions,
  task: (core: Core, change: (change: FactChange) => Promise<Core>) => Promise<T>,
): Promise<T> {
  const { workspace, prefix } = options;
  return exclusively(workspace, coreLock(prefix), async (check) => {
    const core = await settle(options, check);
    return task(core, (change) => commit(options, core, change, check));
  });
}

async function settle(options: CoreOptions, check: () => Promise<void>): Promise<Core> {
  const { workspace, prefix, today } = options;
  const { pending, ...state } = await readState(workspace, prefix);
  if (pending !== undefined) return finish(options, { ...state, pending }, check);
  const text = await readCore(workspace, prefix);
  const present = factKeys(text);
  const lost = state.facts.filter((fact) => !present.has(factKey(fact.text)));
  if (lost.length === 0) return { text, state };
  const facts = state.facts.filter((fact) => !lost.includes(fact));
  return { text, state: { ...state, facts, gone: { ...state.gone, ...hashesOf(lost, today) } } };
}

async function commit(
  options: CoreOptions,
  { text, state }: Core,
  { add = [], retire = [], notes = state.notes }: FactChange,
  check: () => Promise<void>,
): Promise<Core> {
  const { workspace, prefix, today } = options;
  const byId = new Map(state.facts.map((fact) => [fact.id, fact]));
  const retired = retire.flatMap(({ id, by, why }) => {
    const fact = byId.get(id);
    return fact === undefined ? [] : [{ fact, by, why }];
  });
  const isRetired = new Set(retired.map(({ fact }) => fact.id));
  /** The change of the text, with those of the new facts that pass a test. */
  const changeWith = (isIn: (text: string) => boolean) => ({
    remove: retired
      .filter(({ by }) => by === undefined || !isIn(by.text))
      .map(({ fact }) => factKey(fact.text)),
    replace: retired.flatMap(({ fact, by }) =>
      by === undefined || !isIn(by.text) ? [] : [{ key: factKey(fact.text), text: by.text }],
    ),
    add: add.map((fact) => fact.text).filter(isIn),
  });
  const added = [...retired.flatMap(({ by }) => (by === undefined ? [] : [by])), ...add];
  const all = [...state.facts.filter(({ id }) => !isRetired.has(id)), ...added];
  const { dropped, kept } = fit(
    changeCore(
      text,
      changeWith(() => true),
    ),
    all,
    options.maxTokens,
  );
  const gone = { ...state.gone, ...hashesOf([...retired.map(({ fact }) => fact), ...dropped], today) };
  for (const fact of kept) delete gone[keyHash(factKey(fact.text))];
  const lines = [
    ...retired.map(({ fact, by, why }) =>
      retiredLine(fact, today, by === undefined ? why : `now: ${by.text}`),
    ),
    ...dropped.map((fact) => retiredLine(fact, today, 'no room')),
  ];
  const isDropped = new Set(dropped.map((fact) => factKey(fact.text)));
  const change = changeWith((newer) => !isDropped.has(factKey(newer)));
  const pending = {
    change: { ...change, remove: [...change.remove, ...isDropped] },
    retired: lines,
    facts: kept,
    gone,
    notes: { ...notes },
  };
  if (JSON.stringify(pending.facts) !== JSON.stringify(state.facts) || lines.length > 0) {
    await writeState(workspace, prefix, { ...state, pending });
    return finish(options, { ...state, pending }, check);
  }
  const settled = done(options, { ...state, pending });
  await writeState(workspace, prefix, settled);
  return { text, state: settled };
}

/** Writes what is pending. Every step may have been done before. */
async function finish(options: CoreOptions, state: MemoryState, check: () => Promise<void>): Promise<Core> {
  const { workspace, prefix, keepVersions, now } = options;
  const { change, retired } = state.pending ?? { change: { remove: [], replace: [], add: [] }, retired: [] };
  const known = (await readIfFound(workspace, `${prefix}${RETIRED_FILE}`)) ?? '';
  for (const line of retired) {
    if (!known.includes(`${line}\n`)) await appendLine(workspace, `${prefix}${RETIRED_FILE}`, line);
  }
  await check();
  const text = await replaceCore(options, state, (before) => changeCore(before, change));
  const settled = done(options, state);
  await writeState(workspace, prefix, settled);
  await dropOldVersions(workspace, prefix, keepVersions, now);
  return { text, state: settled };
}

function done({ now }: CoreOptions, { pending, ...state }: MemoryState): MemoryState {
  if (pending === undefined) return state;
  const { facts, gone, notes } = pending;
  return { ...state, consolidatedAt: new Date(now).toISOString(), refusals: 0, facts, gone, notes };
}

/**
 * Replaces MEMORY.md by what `edit` makes of it. A person needs no lock to save the file: what they save while it is being
 * replaced is found in the version, and merged.
 */
export async function replaceCore(
  { workspace, prefix, now }: CoreOptions,
  state: Pick<MemoryState, 'notes' | 'facts'>,
  edit: (before: string) => string,
): Promise<string> {
  let before = await readCore(workspace, prefix);
  let after = edit(before);
  for (let round = 0; round < MAX_ROUNDS && after !== before; round++) {
    const exists = (await workspace.stat(`${prefix}${CORE_FILE}`)) !== undefined;
    const at = new Date(now + round).toISOString();
    const id = exists ? await keepVersion(workspace, prefix, before, state, at) : undefined;
    await workspace.write(`${prefix}${CORE_FILE}`, after);
    const late =
      id === undefined ? before : ((await readIfFound(workspace, versionPath(prefix, id))) ?? before);
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

/** Takes facts out until the file fits, the unimportant and old ones first. What a person wrote stays. */
function fit(
  text: string,
  facts: readonly StoredFact[],
  maxTokens: number,
): { readonly kept: StoredFact[]; readonly dropped: StoredFact[] } {
  const dropped: StoredFact[] = [];
  const worst = facts
    .map((fact, order) => ({ fact, order, important: Number(IMPORTANT.test(fact.text)) }))
    .sort((left, right) => left.important - right.important || left.order - right.order);
  let tokens = estimateCounter.count(text);
  for (const { fact } of worst) {
    if (tokens <= maxTokens) break;
    dropped.push(fact);
    tokens -= estimateCounter.count(`- ${fact.text}\n`);
    if (tokens > maxTokens) continue;
    // The parts of a text may count for a little more than the whole.
    tokens = estimateCounter.count(
      changeCore(text, { remove: dropped.map((one) => factKey(one.text)), replace: [], add: [] }),
    );
  }
  const isDropped = new Set(dropped);
  return { kept: facts.filter((fact) => !isDropped.has(fact)), dropped };
}

function retiredLine({ text, saidOn }: StoredFact, today: string, why: string): string {
  return `- ${text} (${saidOn === undefined ? '' : `${saidOn} `}to ${today}; ${why})`;
}

/** The hashes under which facts, and the lines of notes that they come from, are known as gone. */
export function hashesOf(facts: readonly StoredFact[], today: string): Record<string, string> {
  const hashes = facts.flatMap(({ text, from }) => [
    keyHash(factKey(text)),
    ...from.map((line) => line.split(' ')[1] ?? line),
  ]);
  return Object.fromEntries(hashes.map((hash) => [hash, today]));
}
