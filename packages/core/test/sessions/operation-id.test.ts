import { expect, it, vi } from 'vitest';

it('clones of one machine, which draw the same bytes, name their commits apart', async () => {
  vi.spyOn(crypto, 'getRandomValues').mockImplementation((bytes) => bytes);
  const names = new Set<string>();
  for (const time of [1_700_000_000_000, 1_700_000_000_001]) {
    vi.spyOn(Date, 'now').mockReturnValue(time);
    vi.resetModules();
    const { operationId } = await import('../../src/sessions/store-rules.js');
    names.add(operationId());
  }
  vi.restoreAllMocks();
  // All files of a worker have one copy of the modules: the next one must not continue with the bytes that were drawn here.
  vi.resetModules();
  expect(names.size).toBe(2);
});
