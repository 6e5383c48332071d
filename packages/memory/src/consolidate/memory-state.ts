import { type Workspace, WorkspaceError } from '@x/core';
import * as z from 'zod';
import { CORE_FILE, ifWhole, readIfFound, readJson, writeJson } from '../memory-files.js';
import { factKey, hashOf, withoutBullets } from '../notes.js';
import type { CoreOptions } from './core-file.js';

const STATE = 'memory/.consolidation_state';
const FOLDER = 'memory/.versions';
const INSTEAD = 'It is passed over: the memory goes on from what the newest version knew.';
/** Of each of so many days the last version is kept, and for so many days those with other words of a person. */
const DAILY_FOR_DAYS = 30;
const PERSON_FOR_DAYS = 180;
const DAY_MS = 86_400_000;

const factSchema = z.object({
  id: z.string(),
  text: z.string(),
  author: z.enum(['person', 'model']),
  /** The day that it was said. */
  saidOn: z.string().optional(),
  source: z.object({ sessionId: z.string(), messageId: z.string().optional() }).optional(),
  /** The lines of notes that it comes from: a note's name and the hash of the line's key. */
  from: z.array(z.string()).default([]),
});

/** Changes of MEMORY.md, by the keys of its bullets. Making them twice is making them once. */
const changeSchema = z.object({
  /** Bullets to put others in the place of, or to take out; one that is gone is added. */
  replace: z.array(z.object({ key: z.string(), text: z.string().optional() })),
  add: z.array(z.string()),
  /** Bullets to take out after all that, for want of room. */
  drop: z.array(z.string()),
});

const stateShape = {
  /** When notes were last merged. ISO 8601, UTC. */
  consolidatedAt: z.string().optional(),
  /** How often in a row the model's answers were refused. */
  refusals: z.int().min(0).default(0),
  /** The bullets of MEMORY.md that were not written by a person. */
  facts: z.array(factSchema).default([]),
  /** What was among them until a person took out its line: it returns with the line. */
  lost: z.array(factSchema).default([]),
  /** By the hash of its key, the day and the moment at which a fact was retired or forgotten: it does not come back from before. */
  gone: z.record(z.string(), z.string()).default({}),
  /** The lines of notes that were considered, as long as the notes have them: a note's name and the hash of the line's key. */
  seen: z.array(z.string()).default([]),
  /** Whether an earlier version was restored: what was archived since is to be read again. */
  rereads: z.boolean().default(false),
};
const stateSchema = z.object({
  ...stateShape,
  version: z.literal(3),
  /** What is being written: the changes of MEMORY.md, what is to be kept of retired facts, and what holds once it is there. */
  pending: z
    .object({ change: changeSchema, retired: z.array(z.string()), after: z.object(stateShape) })
    .optional(),
});
const { facts, gone, seen } = stateShape;
const versionSchema = z.object({ facts, gone, seen });

export type CoreChange = z.output<typeof changeSchema>;
export type KnownFacts = Readonly<z.output<typeof versionSchema>>;
/** A bullet of MEMORY.md that was not written by a person. */
export type StoredFact = Readonly<z.output<typeof factSchema>>;
/** What is known of a scope's MEMORY.md beside its text. */
export type MemoryState = z.output<typeof stateSchema>;

export async function writeState(workspace: Workspace, prefix: string, state: MemoryState): Promise<void> {
  await writeJson(workspace, `${prefix}${STATE}`, state);
}

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

/** The versions of a prefix, the newest first; by the files that end so, of which one may be there without the other. */
export async function listVersions(
  workspace: Workspace,
  prefix: string,
  end: 'md' | 'json' = 'md',
): Promise<MemoryVersion[]> {
  const folder = `${prefix}${FOLDER}/`;
  const versions: MemoryVersion[] = [];
  for await (const { path } of workspace.list(`${prefix}${FOLDER}`)) {
    if (!path.endsWith(`.${end}`)) continue;
    const id = path.slice(folder.length, -`.${end}`.length);
    const [day, time] = (id.split('~')[0] ?? '').split('T');
    if (time !== undefined) versions.push({ id, replacedAt: `${day}T${time.replaceAll('-', ':')}` });
  }
  return versions.sort((left, right) => (left.id < right.id ? 1 : -1));
}

/** What a version holds; `undefined` when there is none of that id, or a broken one. The id is only compared with those there are. */
export async function readVersion(
  workspace: Workspace,
  prefix: string,
  id: string,
): Promise<(KnownFacts & { readonly text: string }) | undefined> {
  if (!(await listVersions(workspace, prefix)).some((version) => version.id === id)) return undefined;
  const text = await readIfFound(workspace, versionPath(prefix, id));
  const json = versionPath(prefix, id, 'json');
  const known = await ifWhole(readJson(workspace, json, versionSchema, 'The version is passed over.'));
  return text === undefined || known === undefined ? undefined : { text, ...known };
}

/**
 * What is known of a scope's MEMORY.md: where the file that says so was lost, or is broken, what the newest version knew.
 */
export async function readState(workspace: Workspace, prefix: string): Promise<MemoryState> {
  const state = await ifWhole(readJson(workspace, `${prefix}${STATE}`, stateSchema, INSTEAD));
  return state ?? stateSchema.parse({ ...(await newestVersion(workspace, prefix)), version: 3 });
}

/** What the newest version holds that is not broken. */
export async function newestVersion(workspace: Workspace, prefix: string) {
  for (const { id } of await listVersions(workspace, prefix)) {
    const version = await readVersion(workspace, prefix, id);
    if (version !== undefined) return version;
  }
  return undefined;
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
