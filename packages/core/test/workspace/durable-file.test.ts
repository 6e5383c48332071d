import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { LocalWorkspace } from '../../src/node.js';
import { makeDirectory, makeDirectorySync } from '../../src/workspace/durable-file.js';
import { temporaryDirectory } from '../temporary-directory.js';

const ways = {
  makeDirectory,
  makeDirectorySync: async (directory: string) => makeDirectorySync(directory),
};

for (const [name, make] of Object.entries(ways)) {
  describe(name, () => {
    it('makes what is missing, and is content with what is there', async () => {
      const directory = join(await temporaryDirectory(), 'a/b/c');
      await make(directory);
      await make(directory);
      expect(existsSync(directory)).toBe(true);
    });

    it('fails where a file stands in the way', async () => {
      const file = join(await temporaryDirectory(), 'file');
      writeFileSync(file, '');
      await expect(make(file)).rejects.toMatchObject({ code: 'EEXIST' });
      await expect(make(join(file, 'below'))).rejects.toMatchObject({ code: 'ENOTDIR' });
    });

    // The one file system at hand that refuses with ENOENT below a directory that exists.
    it.runIf(existsSync('/proc/self'))(
      'fails, and does not try for ever, where nothing can be made',
      async () => {
        await expect(make('/proc/x-nothing/below')).rejects.toMatchObject({ code: 'ENOENT' });
      },
    );
  });
}

it.runIf(existsSync('/proc/self'))('lets a workspace say that it cannot be made', () => {
  expect(() => new LocalWorkspace('/proc/x-nothing').check()).toThrow(/proc\/x-nothing/);
});
