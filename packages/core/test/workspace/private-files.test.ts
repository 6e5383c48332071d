import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openSession, SessionKey, storageOf, userMessage } from '../../src/index.js';
import { agentFiles } from '../../src/internal.js';
import { JsonSession, LocalWorkspace, WorkspaceSession, WorkspaceSessionLog } from '../../src/node.js';

let directory: string;
let umask: number;
beforeEach(() => {
  umask = process.umask(0o022);
  directory = mkdtempSync(join(tmpdir(), 'x-private-'));
});
afterEach(() => {
  process.umask(umask);
  rmSync(directory, { recursive: true, force: true });
});

/** Everything below a directory that others may read, write or enter. */
function openToOthers(root: string): readonly string[] {
  const paths = ['.', ...readdirSync(root, { recursive: true, encoding: 'utf8' })];
  return paths.filter(
    (path) => !path.startsWith('.locks') && (statSync(join(root, path)).mode & 0o077) !== 0,
  );
}

test('what the harness keeps is for its user alone, and the agent’s files are ordinary ones', async () => {
  const workspace = new LocalWorkspace(directory);
  const storage = storageOf(workspace);
  const key = SessionKey.of({ userId: 'alice', sessionId: 's' });
  const session = await openSession(new WorkspaceSession(storage), key);
  session.state.contextMutable().push(userMessage('Hello'));
  await session.commit();
  await new WorkspaceSessionLog(storage, key).append(session.state.context);
  await agentFiles(key, { workspace, storage, isolation: 'user' }).write('notes/a.md', 'Mine');
  await storage.lock?.('a lock', async () => {});
  expect(readdirSync(join(directory, '.x'), { recursive: true }).length).toBeGreaterThan(5);
  expect(openToOthers(join(directory, '.x'))).toEqual([]);

  await workspace.write('src/a.ts', 'let a;');
  expect(statSync(join(directory, 'src/a.ts')).mode & 0o777).toBe(0o644);
  expect(statSync(join(directory, 'src')).mode & 0o777).toBe(0o755);
});

test('so are sessions in files, in a directory that others may enter too', async () => {
  for (const place of [directory, join(directory, 'new/sessions')]) {
    const key = SessionKey.of({ sessionId: 's' });
    const session = await openSession(new JsonSession({ directory: place }), key);
    session.state.contextMutable().push(userMessage('Hello'));
    await session.commit();
    expect(statSync(join(place, 'context/s/head.json')).mode & 0o777).toBe(0o600);
    expect(statSync(join(place, 'context')).mode & 0o777).toBe(0o700);
  }
});
