import { execFileSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { inspectArchive } from '../archives.js';
import { addressProblem } from '../repository.js';
import { temporaryRepository } from './checks/temporary-repository.js';

const map = (sources: readonly string[], more = {}) => JSON.stringify({ version: 3, sources, ...more });

const files = {
  'package/package.json': '{}',
  'package/README.md': '# One',
  'package/LICENSE': 'MIT',
  'package/dist/index.js': 'export {};',
  'package/dist/index.js.map': map(['../src/index.ts']),
  'package/src/index.ts': 'export {};',
};

function archive(contents: Readonly<Record<string, string>>) {
  const root = temporaryRepository(contents);
  const tarball = join(root, 'one.tgz');
  execFileSync('tar', ['-czf', tarball, '-C', root, 'package']);
  return { folder: 'packages/one', tarball };
}

const messages = (contents: Readonly<Record<string, string>>, limits = { 'packages/one': 10 }) =>
  inspectArchive(archive(contents), limits).map(({ file, message }) => `${file}: ${message}`);

describe('an archive', () => {
  test('passes with its sources, its README and its license', () => {
    expect(messages(files)).toEqual([]);
  });

  test.each([
    ['without a license', { 'package/LICENSE': undefined }, 'its archive has no LICENSE'],
    [
      'with tests',
      { 'package/src/index.test.ts': '' },
      'contains src/index.test.ts, which users do not need',
    ],
    ['with a folder of tests', { 'package/test/a.ts': '' }, 'contains test/a.ts, which users do not need'],
    [
      'with what no list of files named',
      { 'package/notes.txt': '' },
      'contains notes.txt, which users do not need',
    ],
    [
      'with a map to a source that was left out',
      { 'package/src/index.ts': undefined, 'package/src/other.ts': '' },
      'contains dist/index.js.map, but not its source ../src/index.ts',
    ],
  ])('%s does not', (_, change, message) => {
    const contents = Object.entries({ ...files, ...change }).filter(([, text]) => text !== undefined);
    const found = messages(Object.fromEntries(contents) as Record<string, string>);
    expect(found).toHaveLength(1);
    expect(found[0]).toContain(message);
  });

  test('passes with a map that has its sources in itself', () => {
    const { 'package/src/index.ts': _, ...rest } = files;
    const whole = map(['../src/index.ts'], { sourcesContent: ['export {};'] });
    expect(messages({ ...rest, 'package/dist/index.js.map': whole })).toEqual([]);
  });

  test('may reach its limit and not pass it, and needs one', () => {
    const random = { 'package/src/noise.ts': Array.from({ length: 4_000 }, Math.random).join() };
    const packed = archive({ ...files, ...random });
    const size = Math.ceil(statSync(packed.tarball).size / 1000);
    expect(inspectArchive(packed, { 'packages/one': size })).toEqual([]);
    expect(inspectArchive(packed, { 'packages/one': size - 1 })).toMatchObject([
      { message: expect.stringContaining(`${size} kB, above its limit of ${size - 1} kB`) },
    ]);
    expect(inspectArchive(packed, {})).toMatchObject([{ message: expect.stringContaining('no limit') }]);
  });
});

test('a release is refused until the repository has an address', () => {
  expect(addressProblem('https://github.com/owner/name')).toBeUndefined();
  expect(addressProblem('')).toMatch(/is empty.*Write \{ "url": "https:/);
  for (const address of [
    'github.com/owner/name',
    'https://github.com/owner',
    'https://github.com/owner/name/',
    'https://github.com/owner/name.git',
    'git@github.com:owner/name.git',
  ]) {
    expect(addressProblem(address)).toContain(`"${address}"`);
  }
});
