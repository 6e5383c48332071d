/** The memory of a user over all sessions: `MEMORY.md`, the notes of days, and earlier versions. Reads nothing else. */
export interface MemoryShelf {
  overview(): Promise<MemoryOverview>;
  /** @throws {BackendError} `not_found` for anything that is no memory file of this user, whatever the path. */
  read(path: string): Promise<string>;
  /** The best lines. Any text is a query. */
  search(query: string): Promise<readonly MemoryLine[]>;
  /**
   * Puts an earlier `MEMORY.md` back; what it replaces becomes a version itself.
   *
   * @throws {InvalidInputError} when there is no such version.
   */
  restore(versionId: string): Promise<void>;
}

export interface MemoryOverview {
  readonly files: readonly MemoryFileInfo[];
  /** Earlier versions of `MEMORY.md`, the newest first. */
  readonly versions: readonly { readonly id: string; readonly replacedAt: string }[];
}

export interface MemoryFileInfo {
  /** As people and `read` name it: `MEMORY.md`, `memory/2026-01-31.md`. */
  readonly path: string;
  readonly kind: 'core' | 'note' | 'other';
  /** Bytes. */
  readonly size: number;
  /** ISO 8601, UTC. */
  readonly modifiedAt: string;
}

export interface MemoryLine {
  readonly path: string;
  /** From 1. */
  readonly lineNumber: number;
  /** So much of the line as fits, around the match. */
  readonly snippet: string;
}
