import { type SessionKey, type SessionLog, type Workspace, WorkspaceSessionLog } from '@x/core';

const MAX_OPEN_LOGS = 64;

/** Session logs that are kept ready, the last used: each remembers the ids it holds. */
export class OpenLogs {
  readonly #workspace: Workspace;
  readonly #logs = new Map<string, SessionLog>();

  constructor(workspace: Workspace) {
    this.#workspace = workspace;
  }

  of(key: SessionKey): SessionLog {
    const id = key.toString();
    const log = this.#logs.get(id) ?? new WorkspaceSessionLog(this.#workspace, key);
    this.#logs.delete(id);
    this.#logs.set(id, log);
    const oldest = this.#logs.keys().next().value;
    if (this.#logs.size > MAX_OPEN_LOGS && oldest !== undefined) this.#logs.delete(oldest);
    return log;
  }
}
