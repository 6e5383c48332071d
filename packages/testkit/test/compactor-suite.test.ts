import { beforeAll, describe, expect, test } from 'vitest';
import { randomConversation } from '../src/compactor-suite/random-conversation.js';
import { brokenCompactors } from './broken-compactors/broken-compactors.js';
import { runBroken } from './suite-report.js';

let statuses: Awaited<ReturnType<typeof runBroken>>;

beforeAll(async () => {
  statuses = await runBroken('broken-compactors');
}, 600_000);

const statusesOf = (name: string) => statuses(`Compactor: ${name}`);

describe('compactorSuite', () => {
  test.each(brokenCompactors)('finds what is wrong with %s', (name, _, finding) => {
    expect(statusesOf(name).get(finding)).toBe('failed');
  });

  test('leaves out what a compactor opts out of, with the reason in the title', () => {
    const statuses = statusesOf('OptsOut');
    expect(statuses.get('plan() changes nothing (skipped: it has no plans)')).toBe('skipped');
    expect([...statuses.values()].filter((status) => status !== 'passed')).toEqual(['skipped']);
  });

  test('refuses an opt-out of a test that does not exist', () => {
    expect(statusesOf('OptsOut').get('every title in `skip` is a test of this suite')).toBe('passed');
    expect(statusesOf('OptsOutOfNothing').get('every title in `skip` is a test of this suite')).toBe(
      'failed',
    );
  });
});

describe('randomConversation', () => {
  test('is the same for the same seed, and another one for another', () => {
    expect(randomConversation(1)).toEqual(randomConversation(1));
    expect(randomConversation(1)).not.toEqual(randomConversation(2, { idPrefix: '1' }));
  });
});
