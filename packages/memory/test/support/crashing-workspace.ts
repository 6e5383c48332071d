import type { Workspace } from '@x/core';
import type { HeldLock } from '@x/core/store';

/**
 * Where a process ends: at its nth change of a file, before it, after it, or, of an append, after a part of it. To end
 * while reading is to end after the change before.
 */
export interface Crash {
  readonly change: number;
  readonly moment: 'before' | 'after' | 'during';
}

/** What every operation throws once the process is dead. */
export class Crashed extends Error {}

/** A workspace whose process dies at a given change: that and all that comes later throws. Its locks come free. */
export class CrashingWorkspace implements Workspace {
  readonly reach = 'host';
  readonly #workspace: Workspace;
  readonly #crash: Crash | undefined;
  readonly #changes: ('write' | 'append' | 'delete')[] = [];
  #dead = false;

  constructor(workspace: Workspace, crash?: Crash) {
    this.#workspace = workspace;
    this.#crash = crash;
  }

  /** Every moment at which a process that does the same could end. */
  crashes(): Crash[] {
    return this.#changes.flatMap((kind, index) => {
      const moments =
        kind === 'append' ? (['before', 'during', 'after'] as const) : (['before', 'after'] as const);
      return moments.map((moment) => ({ change: index + 1, moment }));
    });
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

  write(...parameters: Parameters<Workspace['write']>) {
    return this.#change('write', () => this.#workspace.write(...parameters));
  }

  append(path: string, data: string | Uint8Array) {
    const bytes = Buffer.from(data as Uint8Array);
    return this.#change(
      'append',
      () => this.#workspace.append(path, bytes),
      () => this.#workspace.append(path, bytes.subarray(0, Math.ceil(bytes.length / 2))),
    );
  }

  delete(path: string) {
    return this.#change('delete', () => this.#workspace.delete(path));
  }

  async lock<T>(
    name: string,
    task: (lock: HeldLock) => Promise<T>,
    options?: { readonly timeoutMs?: number | undefined },
  ): Promise<T> {
    const lock = this.#workspace.lock?.bind(this.#workspace);
    if (lock === undefined) throw new Error('The workspace has no locks.');
    this.#assertAlive();
    return lock(name, task, options);
  }

  async #change<T>(
    kind: 'write' | 'append' | 'delete',
    whole: () => Promise<T>,
    part: () => Promise<void> = async () => {},
  ): Promise<T> {
    this.#assertAlive();
    this.#changes.push(kind);
    if (this.#changes.length !== this.#crash?.change) return whole();
    this.#dead = true;
    if (this.#crash.moment === 'after') await whole();
    if (this.#crash.moment === 'during') await part();
    throw new Crashed();
  }

  #assertAlive(): void {
    if (this.#dead) throw new Crashed();
  }
}
