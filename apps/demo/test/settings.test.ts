import { expect, it } from 'vitest';
import { readSettings } from '../src/settings.js';

it('takes Redis from an argument, or else from a variable', () => {
  const environment = { X_REDIS_URL: 'redis://one' };
  expect(readSettings([], environment).redis).toBe('redis://one');
  expect(readSettings(['--redis', 'redis://two'], environment).redis).toBe('redis://two');
  expect(readSettings([], {}).redis).toBeUndefined();
});

it('refuses an address without repeating its password', () => {
  const read = () => readSettings(['--redis', 'redis://user:sec#ret@h'], {});
  expect(read).toThrow('redis: its address must be redis://');
  expect(read).not.toThrow('sec#ret');
});
