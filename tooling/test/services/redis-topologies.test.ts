import { expect, test } from 'vitest';
import { startAll } from '../../services/redis.js';
import type { Running } from '../../services/service.js';

test('of servers that start together, none is left when one fails', async () => {
  const stopped: string[] = [];
  const server = (address: string): Promise<Running> =>
    Promise.resolve({ address, stop: async () => void stopped.push(address) });
  const starts = [server('a'), Promise.reject(new Error('no port')), server('b')];
  await expect(startAll(starts)).rejects.toThrow('no port');
  expect(stopped.sort()).toEqual(['a', 'b']);
});
