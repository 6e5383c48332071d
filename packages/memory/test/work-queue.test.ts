import { expect, it } from 'vitest';
import { WorkQueue } from '../src/work-queue.js';

/** Tasks that end when they are told to, and what is known of them. */
function work() {
  const open: (() => void)[] = [];
  const log: string[] = [];
  let running = 0;
  let most = 0;
  const task = (name: string) => async () => {
    log.push(name);
    most = Math.max(most, ++running);
    await new Promise<void>((resolve) => open.push(resolve));
    running--;
  };
  const finish = async () => {
    while (open.length > 0) {
      for (const end of open.splice(0)) end();
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  return { log, task, finish, most: () => most };
}

it('runs few tasks at a time, one of a group, and none that waits twice', async () => {
  const queue = new WorkQueue(2);
  const { log, task, finish, most } = work();
  const done = [
    queue.add('a', 'turn', task('a1')),
    queue.add('a', 'turn', task('a2')),
    queue.add('a', 'turn', task('a3')),
    queue.add('a', 'compaction', task('a4')),
    queue.add('b', 'turn', task('b')),
    queue.add('c', 'turn', task('c')),
  ];
  await new Promise((resolve) => setImmediate(resolve));
  expect(log).toEqual(['a1', 'b']);
  await finish();
  await Promise.all(done);
  expect(log.toSorted()).toEqual(['a1', 'a2', 'a4', 'b', 'c']);
  expect(most()).toBe(2);
});

it('goes on after a failure', async () => {
  const queue = new WorkQueue(1);
  const { log, task, finish } = work();
  const failing = queue.add('a', 'turn', async () => {
    throw new Error('broken');
  });
  const next = queue.add('a', 'turn', task('a'));
  await expect(failing).rejects.toThrow('broken');
  await finish();
  await next;
  expect(log).toEqual(['a']);
});
