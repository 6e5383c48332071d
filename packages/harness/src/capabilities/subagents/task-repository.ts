import type { SessionKey } from '@x/core';
import type { TaskRecord } from './task-record.js';

/** Where the tasks of sessions are kept. `owner` is the session whose agent gave them. */
export interface TaskRepository {
  /** Oldest first. */
  list(owner: SessionKey): Promise<readonly TaskRecord[]>;
  /**
   * Replaces the list by what `change` makes of it, with nobody else in between. Nothing is written when it returns the
   * very list that it was given. Resolves to the list as it is then.
   */
  change(
    owner: SessionKey,
    change: (records: readonly TaskRecord[]) => readonly TaskRecord[],
  ): Promise<readonly TaskRecord[]>;
  /** Keeps a result that is too long for a record, and says where. */
  keepResult(owner: SessionKey, taskId: string, text: string): Promise<string>;
}
