import { parseWith, type Workspace, WorkspaceError } from '@x/core';
import { CORE_FILE, readIfFound, readJson } from '../memory-files.js';
import { factKey, hashOf, withoutBullets } from '../notes.js';
import type { CoreOptions } from './core-file.js';
import {
  type KnownFacts,
  type MemoryState,
  type StoredFact,
  statePath,
  stateSchema,
  versionSchema,
} from './memory-state.js';

const FOLDER = 'memory/.versions';
const REMEDY = 'Delete the file to go on from what the newest version knew.';
/** Of each of so many days the last version is kept, and for so many days those with other words of a person. */
const DAILY_FOR_DAYS = 30;
const PERSON_FOR_DAYS = 180;
const DAY_MS = 86_400_000;

/** An earlier MEMORY.md. */
export interface MemoryVersion {
  readonly id: string;
  /** When it was replaced. ISO 8601, UTC. */
  readonly replacedAt: string;
}

/** Where the text of a version lies, the very file that was replaced where the workspace can keep it; and what was known. */
function versionPath(prefix: string, id: string, end: 'md' | 'json' = 'md'): string {
  return `${prefix}${FOLDER}/${id}.${end}`;
}

/**
 * Replaces MEMORY.md, and keeps it and what was known of it as a version. The file itself becomes the version, with what a
 * person saved at this moment: answers that text. `at` is ISO 8601, UTC.
 */
export async function writeCore(
  { workspace, prefix }: CoreOptions,
  { facts, gone, seen }: KnownFacts,
  before: string,
  after: string,
  at: string,
): Promise<string> {
  const core = `${prefix}${CORE_FILE}`;
  const id = `${at.replaceAll(':', '-')}~${hashOf(`${before}${JSON.stringify(seen)}`).slice(0, 8)}`;
  const path = versionPath(prefix, id);
  if ((await workspace.stat(core)) !== undefined) {
    await workspace.write(versionPath(prefix, id, 'json'), JSON.stringify({ facts, gone, seen }));
    const replaced = await workspace.replace?.(core, path, after).then(
      () => true,
      // Not every file system has links: then a copy has to do.
      (error: unknown) => !WorkspaceError.isInstance(error) && Promise.reject(error),
    );
    if (replaced === true) return (await readIfFound(workspace, path)) ?? before;
    if ((await workspace.stat(path)) === undefined) await workspace.write(path, before);
  }
  await workspace.write(core, after);
  return before;
}

/** The versions of a prefix, the newest first. */
export async function listVersions(workspace: Workspace, prefix: string): Promise<MemoryVersion[]> {
  const folder = `${prefix}${FOLDER}/`;
  const versions: MemoryVersion[] = [];
  for await (const { path } of workspace.list(`${prefix}${FOLDER}`)) {
    if (!path.endsWith('.md')) continue;
    const id = path.slice(folder.length, -'.md'.length);
    const [day, time] = (id.split('~')[0] ?? '').split('T');
    if (time !== undefined) versions.push({ id, replacedAt: `${day}T${time.replaceAll('-', ':')}` });
  }
  return versions.sort((left, right) => (left.id < right.id ? 1 : -1));
}

/** What a version holds; `undefined` when there is none of that id. The id is only compared with those there are. */
export async function readVersion(
  workspace: Workspace,
  prefix: string,
  id: string,
): Promise<(KnownFacts & { readonly text: string }) | undefined> {
  if (!(await listVersions(workspace, prefix)).some((version) => version.id === id)) return undefined;
  const text = await readIfFound(workspace, versionPath(prefix, id));
  const known = await readIfFound(workspace, versionPath(prefix, id, 'json'));
  if (text === undefined || known === undefined) return undefined;
  return { text, ...parseWith(versionSchema, JSON.parse(known), `version ${versionPath(prefix, id)}`) };
}

/**
 * What is known of a scope's MEMORY.md: where the file that says so was lost, what the newest version knew.
 * @throws {InvalidInputError} for a file that is no such state.
 */
export async function readState(workspace: Workspace, prefix: string): Promise<MemoryState> {
  const state = await readJson(workspace, statePath(prefix), stateSchema, REMEDY);
  if (state !== undefined) return state;
  const [newest] = await listVersions(workspace, prefix);
  const known = newest && (await readVersion(workspace, prefix, newest.id));
  return stateSchema.parse({ ...known, version: 2 });
}

/** Deletes versions but for the newest, one a day for a month, and for half a year those with other words of a person. */
export async function dropOldVersions({ workspace, prefix, keepVersions: keep, now }: CoreOptions) {
  const versions = await listVersions(workspace, prefix);
  const days = new Set<string>();
  let newer: string | undefined;
  for (const [index, { id, replacedAt }] of versions.length > keep ? versions.entries() : []) {
    const age = (now - Date.parse(replacedAt)) / DAY_MS;
    const day = replacedAt.slice(0, 10);
    const isLastOfDay = age < DAILY_FOR_DAYS && !days.has(day);
    days.add(day);
    const version = await readVersion(workspace, prefix, id);
    const words = version === undefined ? newer : wordsOfPeople(version.text, version.facts);
    const isTheirs = age < PERSON_FOR_DAYS && newer !== undefined && words !== newer;
    newer = words;
    if (index >= keep && !isLastOfDay && !isTheirs) await deleteVersion(workspace, prefix, id);
  }
}

export async function deleteVersion(workspace: Workspace, prefix: string, id: string): Promise<void> {
  await workspace.delete(versionPath(prefix, id));
  await workspace.delete(versionPath(prefix, id, 'json'));
}

/** Answers the text without what was added to it by models and rules. */
function wordsOfPeople(text: string, facts: readonly StoredFact[]): string {
  const own = new Set(facts.map((fact) => factKey(fact.text)));
  return withoutBullets(text, ({ key }) => own.has(key)).trim();
}
