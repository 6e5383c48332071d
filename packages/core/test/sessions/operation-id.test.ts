import { expect, it, vi } from 'vitest';
import { operationId } from '../../src/sessions/store-rules.js';

it('clones of one machine, which draw the same bytes, name their commits apart', () => {
  vi.spyOn(crypto, 'getRandomValues').mockImplementation((bytes) => bytes);
  const now = vi.spyOn(Date, 'now');
  const names = [1_700_000_000_000, 1_700_000_000_001].map((time) => {
    now.mockReturnValue(time);
    return operationId();
  });
  vi.restoreAllMocks();
  expect(names[0]).not.toBe(names[1]);
});
