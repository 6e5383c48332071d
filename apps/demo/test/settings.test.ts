import { expect, it } from 'vitest';
import { readSettings } from '../src/settings.js';

it('runs a survey once where no prompt is given', () => {
  expect(readSettings(['--once'], {}).once).toBe('survey this repository');
  expect(readSettings(['--once', 'look at the stores'], {}).once).toBe('look at the stores');
  expect(readSettings([], {}).once).toBeUndefined();
});

it('refuses a prompt without --once', () => {
  expect(() => readSettings(['look'], {})).toThrow('"look" is a prompt: put --once before it');
});
