import { expect, it } from 'vitest';
import { readSettings, USAGE } from '../src/settings.js';

it('takes the store from an argument, or else from a variable', () => {
  const environment = { X_REDIS_URL: 'redis://one' };
  expect(readSettings([], environment).store).toEqual({ name: 'redis', address: 'redis://one' });
  expect(readSettings(['--redis', 'redis://two'], environment).store?.address).toBe('redis://two');
  expect(readSettings([], {}).store).toBeUndefined();
});

it.each([
  [['--redis', 'redis://h', '--mysql', 'mysql://h/d'], 'redis and mysql both say where sessions live'],
  [['--mysql', 'redis://user:secret@h'], 'the address of mysql must be mysql://'],
])('refuses %j without repeating a password', (args, message) => {
  expect(() => readSettings(args, {})).toThrow(message);
  expect(() => readSettings(args, {})).not.toThrow('secret');
});

it('tells of every store on a server in its usage', () => {
  expect(USAGE).toMatch(/--redis URL .*X_REDIS_URL.*\n +--mysql URL .*X_MYSQL_URL/);
});
