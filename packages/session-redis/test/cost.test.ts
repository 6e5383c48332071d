import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { SessionKey, userMessage } from '@x/core';
import { operationId } from '@x/core/store';
import { commitAt } from '@x/test-support';
import type { Redis } from 'ioredis';
import { describe, expect, inject, it, onTestFinished } from 'vitest';
import { RedisSession } from '../src/index.js';
import { keysOf } from '../src/redis-keys.js';
import { testStore } from './support/test-store.js';

const key = SessionKey.of({ userId: 'alice', sessionId: 's-1' });
const head = { sessionId: 's-1', note: 'x'.repeat(300) };
const turn = () => [userMessage('q'.repeat(1_400)), userMessage('a'.repeat(1_400))];

describe('what a commit costs', () => {
  it('is one command, of the same size at 20 and at 2 000 messages', async () => {
    const { client, keyPrefix, store } = testStore();
    const recording = recordCommands(client);
    for (let stored = 0; stored < 2_000; stored += 2) {
      await commitAt(store, key, { expectedVersion: stored / 2, head, keep: stored, append: turn() });
    }
    const [early, late] = [10, 990].map((index) => recording.slice(-1_000)[index]);
    expect(recording.slice(-999).every(([name]) => name === 'evalsha')).toBe(true);
    const bytes = (command: readonly unknown[] = []) => command.join('').length;
    expect(bytes(late) - bytes(early)).toBeLessThan(10);
    expect(await client.llen(keysOf(keyPrefix, key).messages)).toBe(2_000);
  });

  it('runs no command in the server whose work grows with the history', async () => {
    const { client, keyPrefix, store } = testStore();
    const stored = Array.from({ length: 500 }, turn).flat();
    await commitAt(store, key, { expectedVersion: 0, head, keep: 0, append: stored });
    const { token: expected } = (await store.load(key)) ?? {};
    const monitor = await watchCommands(keyPrefix);
    await new RedisSession({ client, keyPrefix }).commit(key, {
      operation: operationId(),
      expected,
      head,
      keep: 1_000,
      append: turn(),
    });
    await client.exists(`${keyPrefix}end`);
    const seen = await monitor.until(`${keyPrefix}end`);
    expect(seen.filter((name) => name === 'evalsha')).toHaveLength(1);
    expect(seen).not.toContain('lrange');
    expect(seen.filter((name) => name === 'rpush')).toHaveLength(1);
  });
});

/**
 * The names of the commands that the server runs from now on on keys with this prefix. It reads MONITOR from a plain
 * socket: ioredis takes what other clients do at that moment for the answer to its own command.
 */
async function watchCommands(keyPrefix: string) {
  const { hostname, port } = new URL(inject('redisUrl'));
  const socket = connect(Number(port), hostname);
  onTestFinished(() => void socket.destroy());
  socket.write('MONITOR\r\n');
  const lines = createInterface({ input: socket })[Symbol.asyncIterator]();
  await lines.next();
  return {
    async until(lastKey: string): Promise<string[]> {
      const names: string[] = [];
      for (;;) {
        const { value: line = '', done } = await lines.next();
        if (done || line.includes(`"${lastKey}"`)) return names;
        if (line.includes(keyPrefix)) names.push(line.split('"')[1].toLowerCase());
      }
    },
  };
}

/** Every command that a client sends from now on, with its arguments. */
function recordCommands(client: Redis): (readonly unknown[])[] {
  const commands: (readonly unknown[])[] = [];
  const send = client.sendCommand.bind(client);
  client.sendCommand = (command, stream) => {
    commands.push([command.name, ...command.args]);
    return send(command, stream);
  };
  return commands;
}
