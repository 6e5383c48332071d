import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { openSession, SessionKey, type SessionStore } from '../../../src/index.js';
import { LocalWorkspace, WorkspaceSession, WorkspaceSessionLog } from '../../../src/node.js';
import { numbered } from '../../numbered.js';
import { temporaryDirectory } from '../../temporary-directory.js';

const key = SessionKey.of({ userId: 'u', sessionId: 's' });

/** Tells whether files and directories are synced while `work` is done. */
async function syncedBy(directory: string, work: () => Promise<unknown>): Promise<ReadonlySet<string>> {
  const probe = await open(join(directory, 'probe'), 'w');
  const handles: FileHandle = Object.getPrototypeOf(probe);
  await probe.close();
  const synced = new Set<string>();
  for (const name of ['sync', 'datasync'] as const) {
    const sync = handles[name];
    vi.spyOn(handles, name).mockImplementation(async function (this: FileHandle) {
      synced.add((await this.stat()).isDirectory() ? 'directory' : 'file');
      await sync.call(this);
    });
  }
  await work();
  vi.restoreAllMocks();
  return synced;
}

const stores: Readonly<Record<string, (directory: string) => SessionStore>> = {
  WorkspaceSession: (directory) => new WorkspaceSession(new LocalWorkspace(directory)),
};

test.each(Object.entries(stores))(
  'a commit to a %s is on the disk, with its name, when it is acknowledged',
  async (_, create) => {
    const directory = await temporaryDirectory();
    const store = create(directory);
    for (const turn of ['first', 'next']) {
      const session = await openSession(store, key);
      session.state.contextMutable().push(...numbered(2, turn));
      expect(await syncedBy(directory, () => session.commit())).toEqual(new Set(['file', 'directory']));
    }
  },
);

test('what a log has taken is on the disk', async () => {
  const directory = await temporaryDirectory();
  const log = new WorkspaceSessionLog(new LocalWorkspace(directory), key);
  for (const turn of ['first', 'next']) {
    expect(await syncedBy(directory, () => log.append(numbered(2, turn)))).toContain('file');
  }
});
