import { beforeAll, describe, expect, test } from 'vitest';
import { runBroken } from './suite-report.js';

let statuses: Awaited<ReturnType<typeof runBroken>>;

beforeAll(async () => {
  statuses = await runBroken('broken-parts');
}, 600_000);

const OPT_OUTS = 'every title in `skip` is a test of this suite';

describe('modelSuite', () => {
  const reset = 'generate() and stream() settle: connection reset';

  test('accepts a model that throws errors', () => {
    const found = [...statuses('Model: ThrowsErrors').values()];
    expect(found).toHaveLength(33);
    expect(new Set(found)).toEqual(new Set(['passed']));
  });

  test.each(['ThrowsStrings', 'AnswersAnything'])('finds what is wrong with %s', (name) => {
    expect(statuses(`Model: ${name}`).get(reset)).toBe('failed');
  });

  test('skips a test, with the reason in its title', () => {
    const found = statuses('Model: OptsOut');
    expect(found.get(`${reset} (skipped: a reset ends the process)`)).toBe('skipped');
    expect(found.get(OPT_OUTS)).toBe('passed');
  });
});

describe('workspaceSuite', () => {
  test('finds a workspace that ignores ifAbsent', () => {
    const found = statuses('Workspace: IgnoresIfAbsent');
    expect(found.get('a write with ifAbsent does not change an existing file')).toBe('failed');
    expect(found.get('a write replaces the whole file')).toBe('passed');
  });

  test('skips a test, and finds an opt-out of a test that does not exist', () => {
    const found = statuses('Workspace: OptsOut');
    expect(found.get('a lock is not visible as a file (skipped: the storage has no locks)')).toBe('skipped');
    expect(found.get(OPT_OUTS)).toBe('failed');
  });
});
