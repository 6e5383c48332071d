import { operationId } from '@x/core/store';
import type { RedisValue } from '../redis-client.js';
import { keysOfMember } from '../redis-keys.js';
import { deleteLogsScript, readLogScript, statLogsScript, writeLogScript } from '../scripts/logs.js';
import { runScript, type ScriptClient } from '../scripts/run-script.js';
import { isLog, memberOf } from './log-path.js';
import type { Refusal } from './workspace-failure.js';

/** Most log keys per script call. */
const PAGE = 1_000;

/** Kind of a write: replace, create only, or append. */
export type Mode = 'write' | 'new' | 'append';

/** Time and size of a log. */
export interface LogInfo {
  /** Milliseconds since 1970. */
  readonly time: string;
  /** Bytes. */
  readonly size: number;
}

/** Stores the logs of sessions. Each log is in the slot of its session, and expires with it. */
export class RedisLogs {
  readonly #client: ScriptClient;
  readonly #keyPrefix: string;

  constructor(client: ScriptClient, keyPrefix: string) {
    this.#client = client;
    this.#keyPrefix = keyPrefix;
  }

  /** Reads a part of a log; `undefined` if the log does not exist. */
  async read(
    path: string,
    values: readonly [offset: string, length: string],
  ): Promise<Uint8Array | undefined> {
    const reply = await runScript(this.#client, readLogScript, [this.#keys(path).log], values);
    return Array.isArray(reply) ? (reply[0] as Uint8Array) : undefined;
  }

  /**
   * Changes a log.
   *
   * @param begin Adds the log's name to its directory. It runs before the log is created, and again afterwards, because a deletion in
   * between may have removed the name. If it returns a refusal, nothing is changed.
   */
  async write(
    path: string,
    mode: Mode,
    data: RedisValue,
    begin: () => Promise<Refusal | undefined>,
  ): Promise<Refusal | undefined> {
    const { operations, log, session, lifetime } = this.#keys(path);
    const names = [operations, log, session, lifetime];
    const values = [mode, operationId(), data];
    const change = async (...more: string[]) => {
      const reply = await runScript(this.#client, writeLogScript, names, [...values, ...more]);
      return reply == null ? undefined : (String(reply) as Refusal);
    };
    const refusal = await change();
    if (refusal !== 'not_found') return refusal;
    return (await begin()) ?? (await change('first')) ?? (await begin());
  }

  /** Returns time and size of the paths that are existing logs. */
  async stat(paths: readonly string[]): Promise<ReadonlyMap<string, LogInfo>> {
    const found = new Map<string, LogInfo>();
    await this.#bySlot(paths, async (group, logs) => {
      const reply = (await runScript(this.#client, statLogsScript, logs, [])) as unknown[];
      group.forEach((path, index) => {
        const [time, size] = reply.slice(2 * index, 2 * index + 2).map(String);
        if (time && size) found.set(path, { time, size: Number(size) });
      });
    });
    return found;
  }

  async delete(paths: readonly string[]): Promise<void> {
    await this.#bySlot(paths, (_, logs) => runScript(this.#client, deleteLogsScript, logs, []));
  }

  #keys(path: string) {
    return keysOfMember(this.#keyPrefix, memberOf(path));
  }

  /** Runs a task on the logs among the paths, grouped by slot. */
  async #bySlot(
    paths: readonly string[],
    task: (group: readonly string[], logs: readonly string[]) => Promise<unknown>,
  ): Promise<void> {
    const groups = new Map<string, string[]>();
    for (const path of paths.filter(isLog)) {
      const { operations } = this.#keys(path);
      groups.set(operations, [...(groups.get(operations) ?? []), path]);
    }
    const pages = [...groups.values()].flatMap((group) =>
      Array.from({ length: Math.ceil(group.length / PAGE) }, (_, page) =>
        group.slice(page * PAGE, (page + 1) * PAGE),
      ),
    );
    await Promise.all(
      pages.map((page) =>
        task(
          page,
          page.map((path) => this.#keys(path).log),
        ),
      ),
    );
  }
}
