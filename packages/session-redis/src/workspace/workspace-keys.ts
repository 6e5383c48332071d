/**
 * The keys of a workspace. They share a hash tag and so a Cluster slot: a file, the directories above it and their
 * indexes change in one script.
 */
export class WorkspaceKeys {
  readonly #base: string;

  constructor(keyPrefix: string) {
    this.#base = `${keyPrefix}{${keyPrefix}files}`;
  }

  /** Sorted set: the operations of the last minutes, by the milliseconds at which they were done. */
  get operation(): string {
    return `${this.#base}:operations`;
  }

  /** String: the bytes of a file. */
  file(segments: readonly string[]): string {
    return `${this.#base}:file:${segments.join('/')}`;
  }

  /** Hash: the names in a directory, each with a letter, `f` or `d`, and the milliseconds of its last change. */
  directory(segments: readonly string[]): string {
    return `${this.#base}:directory:${segments.join('/')}`;
  }

  /** String: who holds the lock. It ends when its holder is silent. */
  lock(name: string): string {
    return `${this.#base}:lock:${name}`;
  }

  /** What a script needs for one path: the file, then the directories from the root down to the one it is in. */
  along(segments: readonly string[]): string[] {
    const above = segments.map((_, depth) => this.directory(segments.slice(0, depth)));
    return [this.file(segments), ...above];
  }
}
