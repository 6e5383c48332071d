import { readText, SessionKey, WorkspaceError } from '@x/core';
import { WorkspaceSessionLog } from '@x/core/node';
import { describe, expect, it } from 'vitest';
import { RedisWorkspace, redisBackend } from '../../src/index.js';
import { proxiedClient } from '../support/proxied-client.js';
import { messages, testClient, testStore } from '../support/test-store.js';

/** Two replicas of an application, on the same files. */
function replicas() {
  const { client, keyPrefix } = testStore();
  const workspace = new RedisWorkspace({ client, keyPrefix });
  const other = new RedisWorkspace({ client: testClient(), keyPrefix });
  const key = (rest: string) => `${keyPrefix}{${keyPrefix}files}:${rest}`;
  return { client, keyPrefix, workspace, other, key };
}

describe('RedisWorkspace', () => {
  it('leaves nothing behind of what was deleted, but names of writes that end by themselves', async () => {
    const { client, keyPrefix, workspace, key } = replicas();
    for (const path of ['a/b/c', 'a/d', 'e']) await workspace.write(path, path);
    await workspace.lock('name', async () => {});
    expect(await client.keys(`${keyPrefix}*`)).not.toEqual([]);
    expect(await workspace.delete('a')).toBe(true);
    expect(await workspace.delete('e')).toBe(true);
    // A write that its client sends again must find its name, also when the file is gone: it would bring it back.
    const names = key('operations');
    expect(await client.keys(`${keyPrefix}*`)).toEqual([names]);
    expect(await client.zrange(names, '0', '-1')).toEqual(
      Array(3).fill(expect.stringMatching(/^[\w-]{16}$/)),
    );
    expect(await client.pttl(names)).toBeGreaterThan(0);
    await client.pexpire(names, 0);
    expect(await client.keys(`${keyPrefix}*`)).toEqual([]);
  });

  it('has no lifetime of files: what stands on them would not know', () => {
    const { client } = replicas();
    const options = { client, ttlSeconds: 60 };
    for (const open of [() => new RedisWorkspace(options), () => redisBackend(options)]) {
      expect(open).toThrow(
        expect.objectContaining({ issues: [expect.objectContaining({ path: 'ttlSeconds' })] }),
      );
    }
  });

  it('takes one command an operation, whatever the depth', async () => {
    const { client, workspace } = replicas();
    const path = 'a/b/c/d/e/f';
    await workspace.write(path, 'x');
    await workspace.append(path, 'x');
    await workspace.read(path);
    await workspace.stat(path);
    await workspace.delete(path);
    const sent: string[] = [];
    const send = client.sendCommand.bind(client);
    client.sendCommand = (command, stream) => {
      sent.push(command.name);
      return send(command, stream);
    };
    await workspace.write(path, 'x');
    await workspace.append(path, 'x');
    await workspace.read(path, { offset: 1, length: 1 });
    await workspace.stat(path);
    await workspace.delete(path);
    expect(sent.map((name) => name.toLowerCase())).toEqual(Array(5).fill('evalsha'));
  });

  it('keeps workspaces of different prefixes apart', async () => {
    const { client, keyPrefix, workspace } = replicas();
    const neighbor = new RedisWorkspace({ client, keyPrefix: `${keyPrefix}2:` });
    await workspace.write('a', 'mine');
    await neighbor.write('a', 'theirs');
    await neighbor.delete('a');
    expect(await readText(workspace, 'a')).toBe('mine');
  });

  it('says so when Redis has lost the bytes of a file, and lets it be written anew', async () => {
    const { client, workspace, key } = replicas();
    await workspace.write('d/a', 'text');
    expect(await client.del(key('file:d/a'))).toBe(1);
    await expect(workspace.read('d/a')).rejects.toMatchObject({ code: 'workspace_io', path: 'd/a' });
    await workspace.write('d/a', 'anew');
    expect(await readText(workspace, 'd/a')).toBe('anew');
  });

  it('shares a session log between replicas', async () => {
    const { workspace, other } = replicas();
    const key = SessionKey.of({ userId: 'alice', sessionId: 's' });
    const [first, second] = messages(2);
    const log = new WorkspaceSessionLog(workspace, key);
    await log.append([first]);
    const same = new WorkspaceSessionLog(other, key);
    await same.append([second]);
    expect(await readText(workspace, log.location)).toBe(await readText(other, same.location));
    expect(
      (await readText(other, log.location))
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).id),
    ).toEqual([first.id, second.id]);
  });

  it.each([
    [{ client: {} }, 'client'],
    [{ keyPrefix: 'a{b}' }, 'keyPrefix'],
    [{ prefix: 'a' }, 'prefix'],
  ])('refuses the options %o', (options, path) => {
    const make = () => new RedisWorkspace({ client: testClient(), ...(options as object) });
    expect(make).toThrow(expect.objectContaining({ issues: [expect.objectContaining({ path })] }));
  });
});

describe('a lock of a RedisWorkspace', () => {
  it('of a holder that crashed ends by itself; the holder that goes on learns it', async () => {
    const { client, workspace, other, key } = replicas();
    await workspace.lock('name', async (lock) => {
      await lock.check();
      expect(await client.pttl(key('lock:name'))).toBeGreaterThan(20_000);
      await client.pexpire(key('lock:name'), 0);
      await other.lock('name', async (taken) => {
        await expect(lock.check()).rejects.toMatchObject({ code: 'locked', path: 'name' });
        await taken.check();
      });
    });
  });

  it('is not released by a holder that lost it', async () => {
    const { client, workspace, other, key } = replicas();
    let goOn = () => {};
    const wait = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    let began = () => {};
    const beginning = new Promise<void>((resolve) => {
      began = resolve;
    });
    const late = workspace.lock('name', async () => {
      began();
      await wait;
    });
    await beginning;
    await client.pexpire(key('lock:name'), 0);
    await other.lock('name', async (taken) => {
      goOn();
      await late;
      await taken.check();
    });
    expect(await client.exists(key('lock:name'))).toBe(0);
  });

  it('and every method fail with a typed error where Redis cannot be reached', async () => {
    const { proxy, client } = await proxiedClient({ maxRetriesPerRequest: 0, retryStrategy: () => null });
    const workspace = new RedisWorkspace({ client, keyPrefix: testStore().keyPrefix });
    await workspace.write('a', 'x');
    proxy.sever();
    const results = await Promise.allSettled([
      workspace.read('a'),
      workspace.write('a', 'y'),
      workspace.append('a', 'y'),
      workspace.stat('a'),
      workspace.list('').next(),
      workspace.delete('a'),
      workspace.lock('a', async () => {}),
    ]);
    for (const result of results) {
      expect(result).toMatchObject({
        status: 'rejected',
        reason: { code: 'workspace_io', cause: expect.any(Error) },
      });
      expect((result as PromiseRejectedResult).reason).toBeInstanceOf(WorkspaceError);
    }
  });
});
