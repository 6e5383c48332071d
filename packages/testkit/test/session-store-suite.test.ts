import { beforeAll, describe, expect, test } from 'vitest';
import { brokenStores } from './broken-stores/broken-stores.js';
import { runBroken } from './suite-report.js';

let statuses: Awaited<ReturnType<typeof runBroken>>;

beforeAll(async () => {
  statuses = await runBroken('broken-stores');
}, 600_000);

const RANDOM = 'random sequence 1 has the same result as on an array';
const VOLUME = 'a very long conversation';
const statusesOf = (name: string) => statuses(`SessionStore: ${name}`);

describe('the suite', () => {
  test.each(brokenStores)('finds what is wrong with %s', (name, _, finding) => {
    expect(statusesOf(name).get(finding)).toBe('failed');
  });

  test.each([
    ['FindsNothing', 'a cut before a load: the result is never an empty session'],
    ['ExpiresInPart', 'a session expires as a whole, and begins again at version 1'],
    ['TearsCommits', 'a cut before a commit: all of it is stored, or nothing, and it can be repeated'],
  ])('finds, where the options allow to look, what is wrong with %s', (name, finding) => {
    expect(statusesOf(name).get(finding)).toBe('failed');
    expect(statusesOf(name).get(VOLUME)).toBe('passed');
  });

  test('finds what another release stores, or cannot read any more, in a format of the same number', () => {
    const written = 'what is stored is the fixture';
    const read = 'the fixture is loaded and listed';
    const erased = 'the fixture is exported and erased by user';
    const found = ['RenamesField', 'CutsNames'].map((name) =>
      [written, read, erased].map((title) => statusesOf(name).get(title)),
    );
    expect(found).toEqual([
      ['failed', 'passed', 'passed'],
      ['failed', 'failed', 'failed'],
    ]);
  });

  test('finds that two instances do not see the same', () => {
    const statuses = statusesOf('ForgetsOthers');
    expect(statuses.get(RANDOM)).toBe('failed');
    expect(statuses.get(VOLUME)).toBe('passed');
  });

  test('leaves out what a store opts out of, with the reason in the title', () => {
    const statuses = statusesOf('NeverLists');
    expect(
      statuses.get(
        'list returns title, metadata, times, version and size (skipped: the backend has no index)',
      ),
    ).toBe('skipped');
    expect(statuses.get('a scope lists its own sessions and no others')).toBe('failed');
  });

  test('refuses an opt-out of a test that does not exist', () => {
    expect(statusesOf('NeverLists').get('every title in `skip` is a test of this suite')).toBe('passed');
    expect(statusesOf('OptsOutOfNothing').get('every title in `skip` is a test of this suite')).toBe(
      'failed',
    );
  });
});
