import { expect, it, vi } from 'vitest';
import { MemoryIndex } from '../../src/index.js';

vi.mock('better-sqlite3', () => ({
  default: class {
    constructor() {
      throw new Error('Could not locate the bindings file. Tried:\n → /a/build/better_sqlite3.node\n → /b');
    }
  },
}));

it('says what to do where the driver has no binary', async () => {
  const opened = MemoryIndex.open(':memory:');
  await expect(opened).rejects.toThrow(/bindings file\. The driver .*npm rebuild better-sqlite3\.$/);
});
