import type { ProcessNote, SessionProcesses } from '@x/core/store';
import type { RedisClient } from './redis-client.js';
import { beatScript, lookScript, retireScript, sendScript } from './scripts/lease.js';
import { runScript, type Script } from './scripts/run-script.js';
import { asStoreError } from './store-error.js';

/** Keeps the records of processes in Redis. A record and its notes expire by the server's clock. */
export function redisProcesses(client: RedisClient, keyPrefix: string): SessionProcesses {
  const run = (script: Script, id: string, ...values: readonly unknown[]) => {
    // The braces are a Redis Cluster hash tag.
    const keys = [`${keyPrefix}process:{${id}}`, `${keyPrefix}notes:{${id}}`];
    return asStoreError(undefined, () => runScript(client, script, keys, values.map(String)));
  };
  return {
    beat: async ({ id, ttlMs }, acknowledged) => {
      const lines = (await run(beatScript, id, ttlMs, ...acknowledged.map(lineOf))) as readonly unknown[];
      return lines.map((line) => noteOf(String(line)));
    },
    look: async (id) => {
      const end = await run(lookScript, id);
      return end == null ? undefined : Number(end);
    },
    send: async (id, note) => Number(await run(sendScript, id, lineOf(note))) === 1,
    retire: async (id) => {
      await run(retireScript, id);
    },
  };
}

function lineOf({ id, text }: ProcessNote): string {
  return `${id} ${text}`;
}

function noteOf(line: string): ProcessNote {
  const end = line.indexOf(' ');
  return { id: line.slice(0, end), text: line.slice(end + 1) };
}
