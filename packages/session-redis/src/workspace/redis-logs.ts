import { operationId } from '@x/core/store';
import type { RedisClient, RedisValue } from '../redis-client.js';
import { keysOfMember } from '../redis-keys.js';
import { deleteLogsScript, readLogScript, statLogsScript, writeLogScript } from '../scripts/logs.js';
import { runScript, runScriptForBytes } from '../scripts/run-script.js';
import { isLog, memberOf } from './log-path.js';
import type { Refusal } from './workspace-failure.js';

/** Log keys that one script takes. */
const PAGE = 1_000;

/** The change that a workspace makes to a file. */
export type Mode = 'write' | 'new' | 'append';

/** Time and size of a log. */
export interface LogInfo {
  /** Milliseconds since 1970. */
  readonly time: string;
  /** Bytes. */
  readonly size: number;
}

/** The logs of sessions: each is with its session in the slot of the user, and ends with it. */
export class RedisLogs {
  readonly #client: RedisClient;
  readonly #keyPrefix: string;

  constructor(client: RedisClient, keyPrefix: string) {
    this.#client = client;
    this.#keyPrefix = keyPrefix;
  }

  /** Reads a part; returns `undefined` if there is no log. */
  async read(
    path: string,
    values: readonly [offset: string, length: string],
  ): Promise<Uint8Array | undefined> {
    const reply = await runScriptForBytes(this.#client, readLogScript, [this.#keys(path).log], values);
    return Array.isArray(reply) ? (reply[0] as Uint8Array) : undefined;
  }

  /**
   * Changes a log.
   *
   * @param begin Gives the log its name in a directory, before it begins and again afterwards: a deletion in between took it.
   * Returns a refusal: nothing is changed then.
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

  /** Finds those of the paths that are logs. */
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

  /** Does something with the logs among the paths, those of a slot together. */
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
