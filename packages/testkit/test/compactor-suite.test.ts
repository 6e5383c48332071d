import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { randomConversation } from '../src/index.js';
import { brokenCompactors } from './broken-compactors/broken-compactors.js';

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

/** A vitest of its own runs the suite over compactors that must not pass. */
beforeAll(() => {
  const vitest = join(dirname(createRequire(import.meta.url).resolve('vitest/package.json')), 'vitest.mjs');
  const directory = mkdtempSync(join(tmpdir(), 'x-broken-compactors-'));
  const output = join(directory, 'report.json');
  const config = join(import.meta.dirname, 'broken-compactors/vitest.config.ts');
  const options = ['run', '--config', config, '--reporter=json', `--outputFile=${output}`];
  spawnSync(process.execPath, [vitest, ...options], { encoding: 'utf8' });
  report = JSON.parse(readFileSync(output, 'utf8'));
  rmSync(directory, { recursive: true });
}, 120_000);

function statusesOf(compactor: string): ReadonlyMap<string, string> {
  const results = report.testResults.flatMap((file) => file.assertionResults);
  const own = results.filter(({ ancestorTitles }) => ancestorTitles.includes(`Compactor: ${compactor}`));
  return new Map(own.map(({ title, status }) => [title, status]));
}

describe('compactorSuite', () => {
  test.each(brokenCompactors)('finds what is wrong with %s', (name, _, finding) => {
    expect(statusesOf(name).get(finding)).toBe('failed');
  });

  test('leaves out what a compactor opts out of, with the reason in the title', () => {
    const statuses = statusesOf('OptsOut');
    expect(statuses.get('changes nothing by a plan (left out: it has no plans)')).toBe('skipped');
    expect([...statuses.values()].filter((status) => status !== 'passed')).toEqual(['skipped']);
  });

  test('refuses an opt-out of a test that does not exist', () => {
    expect(statusesOf('OptsOut').get('every opt-out names a test')).toBe('passed');
    expect(statusesOf('OptsOutOfNothing').get('every opt-out names a test')).toBe('failed');
  });
});

describe('randomConversation', () => {
  test('is the same for the same seed, and another one for another', () => {
    expect(randomConversation(1)).toEqual(randomConversation(1));
    expect(randomConversation(1)).not.toEqual(randomConversation(2, { idPrefix: '1' }));
  });
});
