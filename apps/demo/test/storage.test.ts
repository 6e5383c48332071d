import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSession, SessionKey, type SessionStore, storageOf, userMessage } from '@x/core';
import { LocalWorkspace, WorkspaceSession } from '@x/core/node';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openStorage } from '../src/storage.js';

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

it('keeps sessions in SQLite, each user in a file of their own', async () => {
  for (const user of [undefined, 'alice', 'bob']) {
    const opened = await openStorage({ data, user });
    expect(await say(opened.store)).toBe(1);
    await opened.close();
    const again = await openStorage({ data, user });
    expect(await say(again.store)).toBe(2);
    expect(await new WorkspaceSession(storageOf(again.workspace)).load(key)).toBeUndefined();
    await again.close();
  }
});

it('goes on with sessions that an earlier release kept in files', async () => {
  const workspace = new LocalWorkspace(join(data, 'workspace'));
  expect(await say(new WorkspaceSession(storageOf(workspace)))).toBe(1);
  const now = await openStorage({ data });
  expect(await say(now.store)).toBe(2);
  await now.close();
});
