import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { brokenStores } from './broken-stores/broken-stores.js';

interface Report {
  readonly testResults: readonly {
    readonly assertionResults: readonly {
      readonly ancestorTitles: readonly string[];
      readonly title: string;
      readonly status: string;
    }[];
  }[];
}

let report: Report;

/** A vitest of its own runs the suite over stores that must not pass. */
beforeAll(() => {
  const vitest = join(dirname(createRequire(import.meta.url).resolve('vitest/package.json')), 'vitest.mjs');
  const directory = mkdtempSync(join(tmpdir(), 'x-broken-stores-'));
  const output = join(directory, 'report.json');
  const config = join(import.meta.dirname, 'broken-stores/vitest.config.ts');
  const options = ['run', '--config', config, '--reporter=json', `--outputFile=${output}`];
  spawnSync(process.execPath, [vitest, ...options], { encoding: 'utf8' });
  report = JSON.parse(readFileSync(output, 'utf8'));
  rmSync(directory, { recursive: true });
}, 120_000);

function statusesOf(store: string): ReadonlyMap<string, string> {
  const results = report.testResults.flatMap((file) => file.assertionResults);
  const own = results.filter(({ ancestorTitles }) => ancestorTitles.includes(`SessionStore: ${store}`));
  return new Map(own.map(({ title, status }) => [title, status]));
}

describe('the suite', () => {
  test.each(brokenStores)('finds what is wrong with %s', (name, _, finding) => {
    expect(statusesOf(name).get(finding)).toBe('failed');
  });

  test.each([
    ['FindsNothing', 'a connection cut before a load is never taken for an empty session'],
    ['ExpiresInPart', 'an expired session is gone as a whole, and begins again at version 1'],
    ['TearsCommits', 'a process that dies before the commit leaves the session before or the one after'],
  ])('finds, where the options allow to look, what is wrong with %s', (name, finding) => {
    expect(statusesOf(name).get(finding)).toBe('failed');
    expect(statusesOf(name).get('versions count from 1')).toBe('passed');
  });

  test('finds that two instances do not see the same', () => {
    const statuses = statusesOf('ForgetsOthers');
    expect(statuses.get('one sees at once what the other commits and deletes')).toBe('failed');
    expect(statuses.get('versions count from 1')).toBe('passed');
  });

  test('leaves out what a store opts out of, with the reason in the title', () => {
    const statuses = statusesOf('NeverLists');
    expect(statuses.get('a list tells version and time (left out: the backend has no index)')).toBe(
      'skipped',
    );
    expect(statuses.get('a scope lists what lies in it and nothing else')).toBe('failed');
  });

  test('refuses an opt-out of a test that does not exist', () => {
    expect(statusesOf('NeverLists').get('every opt-out names a test')).toBe('passed');
    expect(statusesOf('OptsOutOfNothing').get('every opt-out names a test')).toBe('failed');
  });
});
