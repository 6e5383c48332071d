import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import { formatHolder, hasEnded, parseHolder, thisProcess } from '../../src/workspace/lock-holder.js';

describe('hasEnded', () => {
  test('is false for this process', () => {
    expect(hasEnded(thisProcess())).toBe(false);
  });

  test('is true once a process has ended', async () => {
    const child = spawn(process.execPath, ['--eval', '']);
    await once(child, 'exit');
    expect(hasEnded({ ...thisProcess(), pid: child.pid ?? 0 })).toBe(true);
  });

  test('is true for an earlier process with the same number', () => {
    expect(hasEnded({ ...thisProcess(), started: '1' })).toBe(true);
  });

  test('is unknown for a process elsewhere', () => {
    expect(hasEnded({ ...thisProcess(), host: 'elsewhere+0' })).toBeUndefined();
  });
});

describe('a lock holder', () => {
  test('is one file name, and comes back from it', () => {
    const holder = { ...thisProcess(), token: '00000000-0000-4000-8000-000000000000' };
    const name = formatHolder(holder);
    expect(name).toMatch(/^[a-z0-9~.%_+-]{1,255}$/);
    expect(parseHolder(name)).toEqual(holder);
  });

  test.each(['', 'a', '1~2~3~4', '../1~2', '1~2~00000000-0000-4000-8000-000000000000~UPPER'])(
    '%j is none',
    (name) => {
      expect(parseHolder(name)).toBeUndefined();
    },
  );
});
