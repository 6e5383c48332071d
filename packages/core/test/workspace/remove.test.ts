import { mkdir, mkdtemp, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openPlace } from '../../src/workspace/place.js';
import { remove } from '../../src/workspace/remove.js';

describe('remove', () => {
  let root: string;
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'x-remove-'));
  });
  const removed = async (name: string) => {
    const place = await openPlace(root);
    return remove(place, name).finally(() => place.close());
  };
  afterEach(() => rm(root, { recursive: true, force: true }));

  it('removes a directory whose files lie deeper than a path may be long', async () => {
    const names = Array.from({ length: 12 }, (_, level) => `${level}-`.padEnd(240, 'd'));
    await mkdir(join(root, 'tree', ...names), { recursive: true });
    await mkdir(join(root, 'lower', ...names), { recursive: true });
    await writeFile(join(root, 'lower', ...names, 'a'), 'deep');
    await rename(join(root, 'lower'), join(root, 'tree', ...names, 'lower'));

    expect(await removed('tree')).toBe(true);
    expect(await readdir(root)).toEqual([]);
  });

  it('removes a link, and never what it points to', async () => {
    await mkdir(join(root, 'kept'));
    await writeFile(join(root, 'kept/a'), 'kept');
    await symlink(join(root, 'kept'), join(root, 'link'));

    await removed('link');
    expect(await readdir(root)).toEqual(['kept']);
    expect(await readdir(join(root, 'kept'))).toEqual(['a']);
  });
});
