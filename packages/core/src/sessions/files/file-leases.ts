import * as z from 'zod';
import { parsedJson } from '../../lib/json.js';
import { hasEnded, thisProcess } from '../../workspace/lock-holder.js';
import { type HeldLock, readText, type Workspace } from '../../workspace/workspace.js';
import type { SessionKey } from '../session-key.js';
import {
  claimText,
  type HeldLease,
  heldLease,
  type ProcessNote,
  type SessionLeases,
  type SessionProcesses,
} from '../session-leases.js';
import { asSessionStoreError, ifFound } from './session-files.js';

const recordSchema = z.object({ fence: z.number(), claim: z.string() });
const beatSchema = z.object({ beats: z.number(), host: z.string(), pid: z.number(), started: z.string() });

/** The largest fence of this process. Needed because the clock alone is too coarse for unique fences. */
let lastFence = 0;

/** File access for the leases of a store. */
export interface LeaseFiles {
  readonly workspace: Workspace;
  readonly processes: SessionProcesses;
  /** Returns the path of a session's lease. */
  pathOf(key: SessionKey): string;
  /** Runs a task under the lock of the session's commits. */
  locked<T>(key: SessionKey, task: (lock: HeldLock) => Promise<T>): Promise<T>;
  /** Deletes the lease's directory if it contains no session. */
  tidy(key: SessionKey): Promise<void>;
}

/**
 * Stores leases as files, each deleted on release. The fence is the time in microseconds, or the last fence plus one. It
 * therefore grows even if no record of the last lease is left.
 */
export function fileLeases(files: LeaseFiles): SessionLeases {
  const { workspace, processes, pathOf, locked, tidy } = files;
  const readOf = (key: SessionKey) => readLease(workspace, pathOf(key));
  return {
    processes,
    take: (key, claim, { over } = {}) =>
      locked(key, async (lock) => {
        const held = await readOf(key);
        if (held !== undefined && held.token !== claim.token && held.fence !== over) return undefined;
        lastFence = Math.max(Math.ceil(Date.now() * 1000), (held?.fence ?? 0) + 1, lastFence + 1);
        const fence = lastFence;
        await lock.check();
        await workspace.write(pathOf(key), JSON.stringify({ fence, claim: claimText(claim) }));
        return fence;
      }),
    confirm: (key, { token }, fence) =>
      asSessionStoreError(key, async () => {
        const held = await readOf(key);
        return held?.fence === fence && held.token === token;
      }),
    release: (key, { token }) =>
      locked(key, async (lock) => {
        if ((await readOf(key))?.token !== token) return;
        await lock.check();
        await workspace.delete(pathOf(key));
        await tidy(key);
      }),
    find: (key) => asSessionStoreError(key, () => readOf(key)),
  };
}

/** Reads a lease; `undefined` if there is none or it is invalid. The holder of an invalid lease is rejected at its next commit. */
export async function readLease(workspace: Workspace, path: string): Promise<HeldLease | undefined> {
  const text = await ifFound(readText(workspace, path));
  const { data } = recordSchema.safeParse(parsedJson(text ?? ''));
  return data && heldLease(data.claim, data.fence);
}

/** Folder of all processes, in the folder of a store. Each process has a folder with its heartbeat and its notes. */
const PROCESSES = 'processes';
/** Age in milliseconds (one day) after which the folder of a process is deleted, even if it is unknown whether the process is dead. */
const GARBAGE_MS = 86_400_000;
/** Timestamp of the last note that this process sent: milliseconds since 1970, increased to stay unique. */
let lastNoteAt = 0;

/** Stores processes as folders of a workspace. Files have no common clock, so others must watch the beat counter. */
export class FileProcesses implements SessionProcesses {
  readonly #workspace: Workspace;
  #beats = 0;

  constructor(workspace: Workspace) {
    this.#workspace = workspace;
  }

  async beat(
    { id }: { readonly id: string },
    acknowledged: readonly ProcessNote[],
  ): Promise<readonly ProcessNote[]> {
    if (this.#beats === 0) await this.#sweep();
    const beat = { ...thisProcess(), beats: ++this.#beats };
    await this.#workspace.write(beatOf(id), JSON.stringify(beat));
    const notes: ProcessNote[] = [];
    for await (const { path } of this.#workspace.list(folderOf(id))) {
      const [, note] = /\/note-\d+-([\w-]+)$/.exec(path) ?? [];
      if (note === undefined) continue;
      if (acknowledged.some((known) => known.id === note)) await this.#workspace.delete(path);
      else notes.push({ id: note, text: (await ifFound(readText(this.#workspace, path))) ?? '' });
    }
    return notes;
  }

  async look(id: string): Promise<number | undefined> {
    return (await this.#read(beatOf(id)))?.beats;
  }

  async send(id: string, note: ProcessNote): Promise<boolean> {
    if ((await this.look(id)) === undefined) return false;
    // Notes are read in the order of their names. Unique timestamps keep one sender's notes in order, even within a millisecond.
    lastNoteAt = Math.max(lastNoteAt + 1, Date.now());
    await this.#workspace.write(`${folderOf(id)}/note-${lastNoteAt}-${note.id}`, note.text);
    return true;
  }

  async retire(id: string): Promise<void> {
    await this.#workspace.delete(folderOf(id));
  }

  async #read(path: string) {
    const text = await ifFound(readText(this.#workspace, path));
    return beatSchema.safeParse(parsedJson(text ?? '')).data;
  }

  /** Deletes the folders of processes that ended without deleting them. */
  async #sweep(): Promise<void> {
    for await (const { path, type } of this.#workspace.list(PROCESSES)) {
      // Skip files of other programs, such as a file browser.
      if (type !== 'directory') continue;
      const file = `${path}/beat.json`;
      const beat = await this.#read(file);
      const age = Date.now() - Date.parse((await this.#workspace.stat(file))?.modifiedAt ?? '');
      // The age depends on wall clocks, so it does not count for a process that this host sees.
      if ((beat && hasEnded(beat)) ?? age > GARBAGE_MS) await this.#workspace.delete(path);
    }
  }
}

function folderOf(id: string): string {
  return `${PROCESSES}/${id}`;
}

function beatOf(id: string): string {
  return `${folderOf(id)}/beat.json`;
}
