import type { Workspace } from '../src/index.js';
import type { HeldLock } from '../src/store.js';

/** A workspace that counts the bytes that are read from and written to it. */
export class CountingWorkspace implements Workspace {
  readonly reach = 'host';
  readonly #workspace: Workspace;
  bytesRead = 0;
  bytesWritten = 0;

  constructor(workspace: Workspace) {
    this.#workspace = workspace;
  }

  async read(...parameters: Parameters<Workspace['read']>) {
    const bytes = await this.#workspace.read(...parameters);
    this.bytesRead += bytes.length;
    return bytes;
  }

  async write(...[path, data, options]: Parameters<Workspace['write']>) {
    this.bytesWritten += Buffer.byteLength(data as Uint8Array);
    return this.#workspace.write(path, data, options);
  }

  async append(path: string, data: string | Uint8Array) {
    this.bytesWritten += Buffer.byteLength(data as Uint8Array);
    return this.#workspace.append(path, data);
  }

  list(...parameters: Parameters<Workspace['list']>) {
    return this.#workspace.list(...parameters);
  }

  stat(path: string) {
    return this.#workspace.stat(path);
  }

  delete(path: string) {
    return this.#workspace.delete(path);
  }

  lock<T>(name: string, task: (lock: HeldLock) => Promise<T>, options?: { readonly timeoutMs?: number }) {
    const lock = this.#workspace.lock?.bind(this.#workspace);
    if (lock === undefined) throw new Error('The workspace has no locks.');
    return lock(name, task, options);
  }
}
