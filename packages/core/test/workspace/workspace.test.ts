import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { WorkspaceError } from '../../src/index.js';
import { pathSegments } from '../../src/workspace/workspace.js';

function codeOf(path: unknown): string | undefined {
  try {
    pathSegments(path as string);
  } catch (error) {
    if (WorkspaceError.isInstance(error)) return error.code;
    throw error;
  }
  return undefined;
}

describe('pathSegments', () => {
  test.each([
    ['', []],
    ['/', []],
    ['.', []],
    ['a', ['a']],
    ['/a/b', ['a', 'b']],
    ['./a//b/./c/', ['a', 'b', 'c']],
    ['...', ['...']],
    ['a..b/.c', ['a..b', '.c']],
    ['a/c:/d', ['a', 'c:', 'd']],
    ['%2e%2e', ['%2e%2e']],
  ])('%j is %j', (path, segments) => {
    expect(pathSegments(path)).toEqual(segments);
  });

  test.each([
    ['..', 'outside_workspace'],
    ['../a', 'outside_workspace'],
    ['a/../b', 'outside_workspace'],
    ['/..', 'outside_workspace'],
    ['a/..', 'outside_workspace'],
    ['a\0b', 'invalid_path'],
    ['..\\a', 'invalid_path'],
    ['a\\b', 'invalid_path'],
    ['C:', 'invalid_path'],
    ['c:/windows', 'invalid_path'],
    ['/c:/windows', 'invalid_path'],
    ['./c:x', 'invalid_path'],
    [undefined, 'invalid_path'],
    [7, 'invalid_path'],
  ])('%j is refused as %s', (path, code) => {
    expect(codeOf(path)).toBe(code);
  });

  test('whatever is let through has no segment that leads anywhere but down', () => {
    const piece = fc.constantFrom('a', '.', '..', '/', '\\', '\0', 'C:', ' ', 'é');
    fc.assert(
      fc.property(fc.array(piece), (pieces) => {
        const path = pieces.join('');
        if (codeOf(path) !== undefined) return;
        for (const segment of pathSegments(path)) {
          expect(segment).not.toMatch(/^\.{0,2}$/);
          expect(segment).not.toMatch(/[/\\\0]/);
        }
      }),
    );
  });
});
