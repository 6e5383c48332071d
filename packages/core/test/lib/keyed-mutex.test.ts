import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { KeyedMutex } from '../../src/internal.js';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

test('holds no result of a task that is done, even if the queue is never empty', async () => {
  const mutex = new KeyedMutex();
  const results: WeakRef<object>[] = [];
  let open = () => {};
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const add = async (wait?: Promise<void>) => {
    const result = await mutex.run('key', async () => {
      await wait;
      return { rows: [1] };
    });
    results.push(new WeakRef(result));
  };
  let waiting = add();
  for (let round = 0; round < 10; round++) {
    const next = add();
    await waiting;
    waiting = next;
  }
  const last = add(gate);
  await waiting;
  // A weak reference holds its object until the current task of the event loop has ended.
  await new Promise(setImmediate);
  collectGarbage();
  expect(mutex.isBusy('key')).toBe(true);
  expect(results.filter((result) => result.deref() !== undefined)).toEqual([]);
  open();
  await last;
});
