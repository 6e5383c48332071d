import { posix } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  couldMatch,
  matchPath,
  pathPattern,
  plainPath,
} from '../../../src/capabilities/permissions/path-pattern.js';

const matches = (pattern: string, path: string) => matchPath(pathPattern(pattern), plainPath(path));
const names = fc.array(fc.constantFrom('src', 'a', 'b', 'secret', '.env'), { maxLength: 5 });
const patterns = fc.array(fc.constantFrom('src', 'a', 'b', '*', '**', 's*', '?'), { maxLength: 5 });

describe('matchPath', () => {
  it.each([
    ['src/**', 'src/a/b.ts', true],
    ['src/**', 'src', true],
    ['src/', 'src/a/b.ts', true],
    ['src/*', 'src/a/b.ts', false],
    ['src/*.ts', 'src/b.ts', true],
    ['src/**', 'source/b.ts', false],
    ['**/.env', '.env', true],
    ['**/.env', 'a/b/.env', true],
    ['src/**', 'src/../secret/key', false],
    ['src/**', './src//./a', true],
    ['src/**', '../src/a', false],
    ['app/[id]/page.tsx', 'app/[id]/page.tsx', true],
    ['app/[id]/page.tsx', 'app/i/page.tsx', false],
    ['a/**/b/**/c', 'a/x/b/y/z/c', true],
    ['a/**/b/**/c', 'a/x/y/z/c', false],
  ])('%s and %s: %s', (pattern, path, expected) => {
    expect(matches(pattern, path)).toBe(expected);
  });

  it('sees the same in every way to write a path', () => {
    const detour = fc.constantFrom('', '.', 'x/..', 'x/y/../..', './/.');
    fc.assert(
      fc.property(
        patterns,
        names,
        fc.array(detour, { minLength: 6, maxLength: 6 }),
        (pattern, path, detours) => {
          const roundabout = path.map((name, index) => `${detours[index] ?? ''}/${name}`).join('/');
          expect(matches(pattern.join('/'), `.${roundabout === '' ? '' : '/'}${roundabout}`)).toBe(
            matches(pattern.join('/'), path.join('/')),
          );
        },
      ),
      { numRuns: 500 },
    );
  });

  it('never takes a path out of a directory for one within it', () => {
    const parts = fc.array(fc.constantFrom('src', '..', '.', '', 'a', 'secret'), { maxLength: 8 });
    fc.assert(
      fc.property(parts, (parts) => {
        const path = parts.join('/');
        if (!matches('src/**', path)) return;
        // A leading `/` is the root of the workspace: nothing is above it.
        const real = path.startsWith('/') ? `/root${posix.normalize(path)}` : posix.join('/root', path);
        expect(real).toMatch(/^\/root\/src(\/|$)/);
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('couldMatch', () => {
  it('is true for every directory above a path that fits', () => {
    fc.assert(
      fc.property(patterns, names, (pattern, path) => {
        if (!matches(pattern.join('/'), path.join('/'))) return;
        for (let depth = 0; depth <= path.length; depth++) {
          const directory = plainPath(path.slice(0, depth).join('/'));
          expect(couldMatch(pathPattern(pattern.join('/')), directory)).toBe(true);
        }
      }),
      { numRuns: 1_000 },
    );
  });

  it.each([
    ['secret/**', '', true],
    ['secret/**', 'src', false],
    ['a/b/*.ts', 'a', true],
    ['a/b/*.ts', 'a/c', false],
    ['**/.env', 'anything/at/all', true],
  ])('of %s in "%s": %s', (pattern, directory, expected) => {
    expect(couldMatch(pathPattern(pattern), plainPath(directory))).toBe(expected);
  });
});
