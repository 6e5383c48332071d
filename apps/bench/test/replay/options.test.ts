import { InvalidInputError } from '@x/core';
import { expect, it } from 'vitest';
import { parseOptions } from '../../src/replay/options.js';

it('needs the folder, and has defaults for everything else', () => {
  expect(() => parseOptions([])).toThrow(/data/);
  expect(parseOptions(['--data', '/logs'])).toEqual({
    data: '/logs',
    window: 64_000,
    strategy: [],
    domain: [],
    fit: false,
    report: false,
  });
});

it('takes names one by one or separated by commas, and a path from where the user stands', () => {
  const args = '-- --data logs --window 32000 --strategy a,b --strategy c --domain d';
  expect(parseOptions(args.split(' '), '/home/me')).toEqual({
    data: '/home/me/logs',
    window: 32_000,
    strategy: ['a', 'b', 'c'],
    domain: ['d'],
    fit: false,
    report: false,
  });
});

it('refuses what it does not know and what cannot be', () => {
  expect(() => parseOptions(['--windows', '1'])).toThrow(/--windows/);
  expect(() => parseOptions(['--data', 'd', '--window', 'large'])).toThrow(InvalidInputError);
  expect(() => parseOptions(['--data', 'd', '--fit', '--report'])).toThrow(/halves/);
  // 10 000 tokens go to the system prompt and the tools.
  expect(() => parseOptions(['--data', 'd', '--window', '9000'])).toThrow(InvalidInputError);
});
