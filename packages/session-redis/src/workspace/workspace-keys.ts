/**
 * The Redis keys of a workspace. They share a hash tag and therefore a Cluster slot, so that one script can change a file, its parent
 * directories and their indexes.
 */
export class WorkspaceKeys {
  readonly #base: string;

  constructor(keyPrefix: string) {
    this.#base = `${keyPrefix}{${keyPrefix}files}`;
  }

  /** Sorted set: the operations of the last minutes, by their time in milliseconds. */
  get operation(): string {
    return `${this.#base}:operations`;
  }

  /** String: the bytes of a file. */
  file(segments: readonly string[]): string {
    return `${this.#base}:file:${segments.join('/')}`;
  }

  /** Hash: the names in a directory. Each value is `f` or `d`, followed by the time of its last change in milliseconds. */
  directory(segments: readonly string[]): string {
    return `${this.#base}:directory:${segments.join('/')}`;
  }

  /** String: the holder of the lock. It expires if the holder sends no heartbeat. */
  lock(name: string): string {
    return `${this.#base}:lock:${name}`;
  }

  /** Returns the keys that a script needs for one path: the file, then its parent directories from the root down. */
  along(segments: readonly string[]): string[] {
    const above = segments.map((_, depth) => this.directory(segments.slice(0, depth)));
    return [this.file(segments), ...above];
  }
}
