import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';

/** Empty directories, one after the other, that are removed after the tests of the file. */
export function temporaryDirectories() {
  const made: string[] = [];
  afterAll(() => Promise.all(made.map((directory) => rm(directory, { recursive: true, maxRetries: 20 }))));
  return {
    async next(): Promise<string> {
      const directory = await mkdtemp(join(tmpdir(), 'x-session-store-'));
      made.push(directory);
      return directory;
    },
    current(): string {
      const directory = made.at(-1);
      if (directory === undefined) throw new Error('No directory was made yet.');
      return directory;
    },
  };
}
