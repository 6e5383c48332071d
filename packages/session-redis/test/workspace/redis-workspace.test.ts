import { eraseUser, readText, SessionKey, storageOf, WorkspaceError } from '@x/core';
import { WorkspaceSessionLog } from '@x/core/node';
import { commitAt, takeLease } from '@x/test-support';
import { describe, expect, it } from 'vitest';
import { RedisSession, RedisWorkspace, redisBackend } from '../../src/index.js';
import { keysOf } from '../../src/redis-keys.js';
import { proxiedClient } from '../support/proxied-client.js';
import { testCluster } from '../support/test-cluster.js';
import { collect, messages, testClient, testStore } from '../support/test-store.js';

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

describe('the log of a session', () => {
  const key = SessionKey.of({ tenantId: 'acme', userId: 'Zoë', agentId: 'coder', sessionId: 's-1' });
  const path = '.x/tenants/acme/users/%5ao%u00eb/agents/coder/sessions/s-1.log.jsonl';
  const directory = '.x/tenants/acme/users/%5ao%u00eb/agents/coder/sessions';

  /** A session with a log, and the name of what holds the log. */
  async function logged(options: { readonly ttlSeconds?: number } = {}, last = testStore()) {
    const { client, keyPrefix } = last;
    const store = new RedisSession({ client, keyPrefix, ...options });
    const workspace = new RedisWorkspace({ client, keyPrefix });
    const log = new WorkspaceSessionLog(storageOf(workspace), key);
    const said = messages(2);
    await log.append(said);
    const name = keysOf(keyPrefix, key).session.replace('}:session:', '}:log:');
    const commit = (expectedVersion: number) =>
      commitAt(store, key, { expectedVersion, head: {}, keep: 0, append: said });
    return { client, keyPrefix, store, workspace, log, said, name, commit };
  }

  it('lies in the slot of its user, under the name of its session, and is listed as a file', async () => {
    const { client, keyPrefix, workspace, log, said, name } = await logged();
    expect(await client.exists(name)).toBe(1);
    expect(await client.keys(`${keyPrefix}*:file:*`)).toEqual([]);
    const [entry] = await collect(workspace.list(directory));
    const text = await readText(workspace, path);
    expect(entry).toMatchObject({ path, type: 'file', size: Buffer.byteLength(text) });
    expect(await workspace.stat(path)).toEqual(entry);
    expect(Math.abs(Date.now() - Date.parse(entry?.modifiedAt ?? ''))).toBeLessThan(600_000);
    expect(await collect(log.read())).toEqual(said);
    const middle = await workspace.read(path, { offset: 5, length: 7 });
    expect(Buffer.from(middle).toString()).toBe(text.slice(5, 12));
  });

  it('ends with its session, and leaves no name behind', async () => {
    const { client, keyPrefix, workspace, store, log, said, name, commit } = await logged({
      ttlSeconds: 100,
    });
    expect(await client.pttl(name)).toBe(-1);
    await commit(0);
    const { session, messages: list } = keysOf(keyPrefix, key);
    await client.pexpire(name, 1_000);
    await commit(1);
    const [ofLog, ofSession] = await Promise.all([client.pttl(name), client.pttl(session)]);
    expect(ofLog).toBeGreaterThan(90_000);
    expect(Math.abs(ofLog - ofSession)).toBeLessThan(5_000);
    await log.append(messages(1));
    await workspace.write(path, await workspace.read(path));
    expect(await client.pttl(name)).toBeGreaterThan(90_000);
    for (const each of [session, list, name]) await client.pexpire(each, 0);
    expect(await collect(workspace.list(directory))).toEqual([]);
    await expect(workspace.read(path)).rejects.toMatchObject({ code: 'not_found' });
    expect(await workspace.stat(path)).toBeUndefined();
    expect(await workspace.delete(path)).toBe(false);
    await log.append(said);
    expect(await collect(log.read())).toEqual(said);
    expect(await collect(workspace.list(directory))).toHaveLength(1);
    expect(await store.load(key)).toBeUndefined();
  });

  it('that begins before its session takes the lifetime that a lease has told, and one that begins again that of the session', async () => {
    const { client, keyPrefix } = testStore();
    const store = new RedisSession({ client, keyPrefix, ttlSeconds: 100 });
    const workspace = new RedisWorkspace({ client, keyPrefix });
    const { log: name, session } = keysOf(keyPrefix, key);
    // As a turn does: the lease, the log, then the session.
    await takeLease(store, key);
    await workspace.append(path, 'one');
    expect(await client.pttl(name)).toBeGreaterThan(90_000);
    expect(await client.pttl(name)).toBeLessThanOrEqual(100_000);
    await commitAt(store, key, { expectedVersion: 0, head: {}, keep: 0, append: [] });
    await client.pexpire(session, 50_000);
    await workspace.delete(path);
    await workspace.write(path, 'two');
    expect(await client.pttl(name)).toBeLessThanOrEqual(50_000);
    expect(await client.pttl(name)).toBeGreaterThan(40_000);
    await workspace.write(path, 'three');
    expect(await client.pttl(name)).toBeGreaterThan(40_000);
    // After the last commit, too: the session has ended.
    for (const each of [session, name]) await client.pexpire(each, 0);
    await workspace.append(path, 'late');
    expect(await client.pttl(name)).toBeGreaterThan(90_000);
  });

  it('has no lifetime where its session has none, whatever other stores of its bucket have', async () => {
    const { client, keyPrefix, workspace, name, commit } = await logged();
    expect(await client.pttl(name)).toBe(-1);
    await commit(0);
    await workspace.delete(path);
    const other = SessionKey.of({ ...key.parts, sessionId: 's-2' });
    const ending = new RedisSession({ client, keyPrefix, ttlSeconds: 100 });
    await commitAt(ending, other, { expectedVersion: 0, head: {}, keep: 0, append: [] });
    await workspace.append(path, 'again');
    expect(await client.pttl(name)).toBe(-1);
  });

  it('loses its name an hour after it ended, with the next listing', async () => {
    const { client, keyPrefix, workspace, name } = await logged();
    const names = `${keyPrefix}{${keyPrefix}files}:directory:${directory}`;
    await client.del(name);
    expect(await collect(workspace.list(directory))).toEqual([]);
    expect(await client.hkeys(names)).toEqual(['s-1.log.jsonl']);
    await client.hset(names, 's-1.log.jsonl', `f${Date.now() - 3_700_000}`);
    expect(await collect(workspace.list(directory))).toEqual([]);
    expect(await client.hkeys(names)).toEqual([]);
  });

  it('stays when its session is deleted, or moved to another store, for good', async () => {
    const { client, store, log, said, name, commit } = await logged({ ttlSeconds: 100 });
    await commit(0);
    expect(await store.delete(key)).toBe(true);
    expect(await client.pttl(name)).toBe(-1);
    expect(await collect(log.read())).toEqual(said);
  });

  it.each(['Redis', 'a Cluster'])('is erased with its user, on %s', async (kind) => {
    const last = kind === 'Redis' ? testStore() : { ...testCluster(), store: undefined as never };
    const { store, workspace, commit } = await logged({}, last as never);
    await commit(0);
    const storage = storageOf(workspace);
    expect(await eraseUser({ session: store, storage }, { tenantId: 'acme', userId: 'Zoë' })).toEqual({
      sessions: 1,
      files: 1,
      busy: [],
    });
    expect(await workspace.stat(path)).toBeUndefined();
    expect(await collect(workspace.list('.x/tenants/acme/users'))).toEqual([]);
  });

  it('takes one command for what is added', async () => {
    const { client, workspace } = await logged();
    await workspace.append(path, 'x');
    const sent: string[] = [];
    const send = client.sendCommand.bind(client);
    client.sendCommand = (command, stream) => {
      sent.push(command.name);
      return send(command, stream);
    };
    await workspace.append(path, 'y');
    await workspace.stat(path);
    await workspace.read(path, { offset: 3, length: 3 });
    expect(sent.map((name) => name.toLowerCase())).toEqual(Array(3).fill('evalsha'));
  });

  it('is written once when a reply is lost, and refuses what a file refuses', async () => {
    const { proxy, client } = await proxiedClient({ retryStrategy: () => 1 });
    const workspace = new RedisWorkspace({ client, keyPrefix: testStore().keyPrefix });
    await workspace.append(path, 'a');
    for (const text of ['b', 'c']) {
      const severed = proxy.severReplyTo('');
      await Promise.all([severed, workspace.append(path, text)]);
    }
    expect(await readText(workspace, path)).toBe('abc');
    await expect(workspace.write(path, 'x', { ifAbsent: true })).rejects.toMatchObject({
      code: 'already_exists',
    });
    await expect(workspace.write(`${path}/below`, 'x')).rejects.toMatchObject({ code: 'invalid_path' });
    await workspace.write(path, 'anew');
    expect(await readText(workspace, path)).toBe('anew');
    const other = `${directory}/folder.log.jsonl`;
    await workspace.write(`${other}/a`, 'x');
    await expect(workspace.append(other, 'x')).rejects.toMatchObject({ code: 'is_directory' });
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
