import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSession, SessionKey, type SessionStore, storageOf, userMessage } from '@x/core';
import { WorkspaceSession } from '@x/core/node';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { openFiles } from '../src/storage.js';

let data: string;
beforeEach(() => {
  data = mkdtempSync(join(tmpdir(), 'x-storage-'));
});
afterEach(() => rmSync(data, { recursive: true, force: true, maxRetries: 20 }));

const key = SessionKey.of({ sessionId: 's' });
const say = async (store: SessionStore) => {
  const session = await openSession(store, key);
  session.state.contextMutable().push(userMessage('Hello'));
  return session.commit();
};

it('keeps sessions in files where SQLite cannot be loaded, says so in one line, and goes on there', async () => {
  const warn = vi.spyOn(console, 'error').mockImplementation(() => {});
  vi.stubEnv('X_SQLITE', 'neither');
  const first = openFiles(data);
  expect(await say(first.store)).toBe(1);
  await first.close();
  const folder = join(data, 'workspace/.x/sessions-json');
  const line = /^SQLite cannot be loaded: .* Use Node 22\.16 .* Until then sessions are stored in (.*)\.$/;
  expect(warn.mock.calls.map(([text]) => line.exec(text)?.[1])).toEqual([folder]);
  vi.unstubAllEnvs();
  const next = openFiles(data);
  expect(await say(next.store)).toBe(2);
  await next.close();
  expect(warn).toHaveBeenCalledTimes(1);
  warn.mockRestore();
});

it('keeps sessions in SQLite', async () => {
  for (const version of [1, 2]) {
    const { store, workspace } = openFiles(data);
    expect(await say(store)).toBe(version);
    expect(await new WorkspaceSession(storageOf(workspace)).load(key)).toBeUndefined();
    await store.close();
  }
});
