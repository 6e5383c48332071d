import type { Workspace } from '../src/index.js';
import type { HeldLock } from '../src/store.js';

/** Where a process ends: at its nth change of a file, before it, after it, or after a part of it. */
export interface Crash {
  readonly change: number;
  readonly moment: 'before' | 'after' | { readonly part: number };
}

/** What every call throws once the process is dead. */
export class Crashed extends Error {}

/**
 * A workspace whose process dies at a given change: that one and all later calls throw. The lock comes free, as a dead
 * process's does.
 */
export class CrashingWorkspace implements Workspace {
  readonly reach = 'host';
  readonly #workspace: Workspace;
  readonly #crash: Crash | undefined;
  #changes = 0;
  #dead = false;

  constructor(workspace: Workspace, crash: Crash | undefined) {
    this.#workspace = workspace;
    this.#crash = crash;
  }

  async read(...parameters: Parameters<Workspace['read']>) {
    this.#assertAlive();
    return this.#workspace.read(...parameters);
  }

  async stat(path: string) {
    this.#assertAlive();
    return this.#workspace.stat(path);
  }

  async *list(...parameters: Parameters<Workspace['list']>) {
    this.#assertAlive();
    yield* this.#workspace.list(...parameters);
  }

  async write(...[path, data, options]: Parameters<Workspace['write']>) {
    // Atomic: some bytes of it are none of it, but for a temporary file that nobody sees.
    await this.#change(
      () => this.#workspace.write(path, data, options),
      async () => {},
    );
  }

  async append(path: string, data: string | Uint8Array) {
    await this.#change(
      () => this.#workspace.append(path, data),
      (bytes) => this.#workspace.append(path, Buffer.from(data as Uint8Array).subarray(0, bytes)),
    );
  }

  async delete(path: string) {
    return this.#change(
      () => this.#workspace.delete(path),
      async (count) => {
        // A directory is emptied file by file, in any order.
        const files: string[] = [];
        for await (const entry of this.#workspace.list(path)) files.push(entry.path);
        for (const file of files.reverse().slice(0, count % (files.length + 1)))
          await this.#workspace.delete(file);
      },
    );
  }

  lock<T>(name: string, task: (lock: HeldLock) => Promise<T>, options?: { readonly timeoutMs?: number }) {
    this.#assertAlive();
    const lock = this.#workspace.lock?.bind(this.#workspace);
    if (lock === undefined) throw new Error('The workspace has no locks.');
    return lock(name, task, options);
  }

  async #change<T>(whole: () => Promise<T>, part: (bytes: number) => Promise<void>): Promise<T> {
    this.#assertAlive();
    this.#changes++;
    if (this.#changes !== this.#crash?.change) return whole();
    this.#dead = true;
    const { moment } = this.#crash;
    if (moment === 'after') await whole();
    else if (moment !== 'before') await part(moment.part);
    throw new Crashed();
  }

  #assertAlive(): void {
    if (this.#dead) throw new Crashed();
  }
}
