import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tiktokenCounter } from '@x/compaction/tiktoken';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { GuideModel } from '../../src/guide/guide-model.js';
import { type OpenedUser, openUser } from '../../src/open-user.js';
import type { MemoryOverview } from '../../src/server/backend.js';
import { createServer, type DemoServer } from '../../src/server/server.js';
import { readSettings } from '../../src/settings.js';
import { FakeBackend } from '../fake-backend/fake-backend.js';

const users = { alice: 'alice-secret', bob: 'bob-secret-2' };
type User = keyof typeof users;

let data: string;
let opened: Map<string, OpenedUser>;
let server: DemoServer;
let origin: string;

beforeEach(async () => {
  data = mkdtempSync(join(tmpdir(), 'x-users-'));
  const settings = readSettings(['--data', data, '--repo', data], {});
  const counter = tiktokenCounter();
  opened = new Map();
  for (const user of Object.keys(users)) {
    const choice = { model: new GuideModel({ contextWindow: 16_000, counter }), embedded: true };
    opened.set(user, await openUser({ settings, choice, user, version: '0.0.0', starters: [] }));
  }
  const backend = (user: string | undefined) => (opened.get(user ?? '') as OpenedUser).backend;
  server = createServer({ backend, webRoot: '/nowhere', port: 0, users });
  origin = new URL(await server.listen()).origin;
});
afterEach(async () => {
  await server.close();
  for (const each of opened.values()) {
    await each.closeAgent();
    await each.closeStorage();
  }
  rmSync(data, { recursive: true, force: true, maxRetries: 5 });
});

const ask = (user: User, path: string, init: RequestInit = {}) =>
  fetch(`${origin}/api${path}`, {
    ...init,
    headers: { Authorization: `Bearer ${users[user]}`, 'Content-Type': 'application/json', ...init.headers },
  });
const say = (user: User, session: string, text: string) =>
  ask(user, `/sessions/${session}/messages`, { method: 'POST', body: JSON.stringify({ text }) });
const textOf = async (response: Response) => response.text();

describe('two users of one server', () => {
  it('see nothing of each other: sessions, messages, files, memory', async () => {
    expect((await say('alice', 'shared', 'hello. I prefer turquoise as my codeword')).status).toBe(202);
    await expect.poll(() => ask('alice', '/sessions').then(textOf)).toContain('turquoise');
    await expect.poll(() => ask('alice', '/sessions/shared').then(textOf)).toContain('embedded guide');

    expect(await (await ask('bob', '/sessions')).json()).toEqual([]);
    expect((await ask('bob', '/sessions/shared')).status).toBe(404);
    for (const [method, path] of [
      ['DELETE', '/sessions/shared'],
      ['GET', '/sessions/shared/window'],
      ['GET', '/sessions/shared/messages/x'],
    ] as const) {
      expect((await ask('bob', path, { method })).status, `${method} ${path}`).toBe(404);
    }
    const decisions = JSON.stringify({ decisions: { x: { type: 'approve' } } });
    const decided = await ask('bob', '/sessions/shared/decisions', { method: 'POST', body: decisions });
    expect(decided.status).toBe(404);

    // The same id is another session for another user.
    expect((await say('bob', 'shared', 'hello from bob')).status).toBe(202);
    await expect.poll(() => ask('bob', '/sessions/shared').then(textOf)).toContain('embedded guide');
    expect(await textOf(await ask('bob', '/sessions/shared'))).not.toContain('turquoise');
    expect(await textOf(await ask('alice', '/sessions/shared'))).not.toContain('from bob');

    const log = 'users/alice/agents/guide/sessions/shared.log.jsonl';
    expect((await ask('alice', `/file?path=${log}`)).status).toBe(200);
    // The repository holds the data of all here, as it does by default.
    const mounted = ['.x/', ''].map((tree) => `repo/users/alice/workspace/${tree}${log}`);
    const [report, env] = ['repo/users/alice/workspace/REPORT.md', 'repo/.env.local'];
    writeFileSync(join(data, 'users/alice/workspace/REPORT.md'), 'turquoise');
    writeFileSync(join(data, '.env.local'), 'SECRET=1');
    for (const path of [
      log,
      `../../alice/workspace/${log}`,
      `../../../users/alice/workspace/${log}`,
      ...mounted,
      report,
      env,
    ]) {
      expect(
        (await ask('bob', `/file?path=${encodeURIComponent(path)}`)).status,
        path,
      ).toBeGreaterThanOrEqual(400);
    }

    const notes = async (user: User) => (await (await ask(user, '/memory')).json()) as MemoryOverview;
    await expect.poll(async () => (await notes('alice')).files.length).toBeGreaterThan(0);
    await expect
      .poll(() => ask('alice', '/memory/search?query=turquoise').then(textOf))
      .toContain('turquoise');
    expect(await (await ask('bob', '/memory/search?query=turquoise')).json()).toEqual([]);
  });

  it('are told apart by their tokens alone, whatever they say they are', async () => {
    await say('alice', 'mine', 'hello');
    const headers = { 'X-User': 'alice', Cookie: 'user=alice' };
    expect((await ask('bob', '/sessions/mine', { headers })).status).toBe(404);
    expect((await fetch(`${origin}/api/sessions`, { headers })).status).toBe(401);
    expect((await fetch(`${origin}/api/sessions?token=${users.alice}`)).status).toBe(401);
  });

  it('come in by the link with their token, which then is in no address', async () => {
    const response = await fetch(`${origin}/?token=${users.bob}`, { redirect: 'manual' });
    expect(response.status).toBe(303);
    expect(response.headers.get('location')).toBe('/');
    const cookie = response.headers.get('set-cookie') ?? '';
    expect(cookie).toMatch(/HttpOnly.*SameSite=Strict/i);
    const [pair = ''] = cookie.split(';');
    expect((await fetch(`${origin}/api/sessions`, { headers: { Cookie: pair } })).status).toBe(200);
  });
});

describe('tokens of users', () => {
  const create = (options: object) =>
    createServer({ backend: new FakeBackend(), webRoot: '/nowhere', port: 0, ...options });

  it('must differ, and stand alone', () => {
    expect(() => create({ users: { a: 'same-secret', b: 'same-secret' } })).toThrow(/token of their own/);
    expect(() => create({ users, token: 'another-one' })).toThrow(/leave one of them out/);
  });

  it('open a server to other machines', () => {
    expect(() => create({ host: '0.0.0.0' })).toThrow(/set a token/);
    expect(() => create({ host: '0.0.0.0', users })).not.toThrow();
  });

  it('are read from the environment; what is wrong is said without the secret', () => {
    expect(readSettings([], { X_USERS: 'alice=alice-secret, bob=bob-secret-2' }).users).toEqual(users);
    const read = () => readSettings([], { X_USERS: 'alice=alice-secret,bob=hunter2' });
    expect(read).toThrow(/entry 2 must be NAME=TOKEN/);
    expect(read).not.toThrow(/hunter2/);
  });
});
