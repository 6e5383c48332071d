import { expect, it } from 'vitest';
import type { RedisClient } from '../src/index.js';
import { runScript, script } from '../src/scripts/run-script.js';

const one = script('return 1');

it.each([
  ['by its hash', [], ['evalsha']],
  ['by its text, where the server does not know it', ['NOSCRIPT'], ['evalsha', 'eval']],
  ['again, while a Cluster moves its slot', ['TRYAGAIN', 'TRYAGAIN'], ['evalsha', 'evalsha', 'evalsha']],
  ['again by its text', ['NOSCRIPT', 'TRYAGAIN'], ['evalsha', 'eval', 'evalsha']],
  [
    'again, where its client gave up on the move, or the script did',
    [
      'Too many Cluster redirections. Last error: ReplyError: TRYAGAIN',
      'Script attempted to access a non local key',
    ],
    ['evalsha', 'evalsha', 'evalsha'],
  ],
])('a script is run %s', async (_, errors, calls) => {
  const { client, called } = refusing(errors);
  expect(await runScript(client, one, ['key'], ['value'])).toBe(1);
  expect(called).toEqual(calls);
});

it.each([
  ['is no script of the server even as text', ['NOSCRIPT', 'NOSCRIPT']],
  ['fails', ['READONLY']],
])('what %s is an error', async (_, errors) => {
  const { client, called } = refusing(errors);
  await expect(runScript(client, one, [], [])).rejects.toThrow(`${errors[0]} `);
  expect(called).toHaveLength(errors.length);
});

/** A client whose server answers these errors first. */
function refusing(errors: readonly string[]) {
  const left = [...errors];
  const called: string[] = [];
  const callBuffer = async (command: string) => {
    called.push(command);
    const error = left.shift();
    if (error !== undefined) throw new Error(`${error} no`);
    return 1;
  };
  const client = { callBuffer } as Partial<RedisClient> as RedisClient;
  return { client, called };
}
