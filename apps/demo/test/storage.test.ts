import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSession, SessionKey, type SessionStore, storageOf, userMessage } from '@x/core';
import { WorkspaceSession } from '@x/core/node';
import { afterEach, beforeEach, expect, it } from 'vitest';
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

it('keeps sessions in SQLite', async () => {
  for (const version of [1, 2]) {
    const { store, workspace } = openFiles(data);
    expect(await say(store)).toBe(version);
    expect(await new WorkspaceSession(storageOf(workspace)).load(key)).toBeUndefined();
    await store.close();
  }
});
