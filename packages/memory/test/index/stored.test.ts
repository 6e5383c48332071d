import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { dumpSqlite } from '@x/test-support';
import { expectStored } from '@x/test-support/suites';
import { expect, it } from 'vitest';
import { MemoryIndex } from '../../src/index.js';
import { temporaryDirectory } from '../support/test-context.js';

// An index of another version is made again, so that no test has to read one.
it('what is stored is the fixture of version 1', async () => {
  const file = join(await temporaryDirectory(), 'index.db');
  const index = await MemoryIndex.open(file);
  await index.indexFromString('MEMORY.md', '# Größe\n\n- The port is 8080\n');
  await index.indexFromString('users/%fcn%ef/memory/2026-01-02.md', '- likes tea 🍵\n- likes tea 🍵\n');
  await index.close();
  // What the full-text index keeps of terms is SQLite's own.
  const dump = dumpSqlite(file, /^line_terms_/);
  expect(dump).toMatch(/^PRAGMA user_version = 1;/);
  expectStored(fileURLToPath(new URL('../../fixtures/stored/1/index.sql', import.meta.url)), dump);
});
