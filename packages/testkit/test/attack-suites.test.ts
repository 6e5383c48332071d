import { beforeAll, describe, expect, test } from 'vitest';
import { brokenAgents, brokenPromises, looseAgents } from './broken-agents/broken-agents.js';
import { runBroken } from './suite-report.js';

let statuses: Awaited<ReturnType<typeof runBroken>>;

beforeAll(async () => {
  statuses = await runBroken('broken-agents');
}, 600_000);

describe('isolationSuite', () => {
  const cases = brokenAgents.map(([name, , through]) => [name, through] as const);
  test.each(cases)('finds who comes through: %s', (name, through) => {
    const found = statuses(`Isolation: ${name}`);
    expect(found.get('planted text is stored: logs')).toBe('passed');
    for (const attacker of through)
      expect(found.get(`random calls never reach the planted text: ${attacker}`)).toBe('failed');
    if (through.length === 0) expect([...found.values()]).not.toContain('failed');
  });
});

describe('isolationSuite with leases', () => {
  const cases = brokenPromises.map(([name, test]) => [name, test] as const);
  test.each(cases)('finds what is broken, and nothing else: %s', (name, broken) => {
    const found = [...statuses(`Isolation: ${name}`)];
    expect(found.filter(([, status]) => status === 'failed')).toEqual(
      broken === undefined ? [] : [[broken, 'failed']],
    );
    expect(found.length).toBe(10);
  });
});

describe('permissionSuite', () => {
  test.each(looseAgents)('finds what is not allowed: %s', (name) => {
    const found = statuses(`Permissions: ${name}`);
    expect(found.get('allowed calls work')).toBe('passed');
    expect(found.get('random calls do nothing that the rules do not allow')).toBe(
      name === 'Strict' ? 'passed' : 'failed',
    );
  });
});
