import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SessionKey } from '@x/core';
import { expect, test } from 'vitest';
import { sessionStoreSuite } from '../../src/suites.js';
import { type KeyValue, KeyValueSession } from './key-value-session.js';

/** A key-value store for tests. */
class MapKeyValue implements KeyValue {
  readonly #values = new Map<string, { readonly text: string; readonly revision: number }>();
  #revision = 0;

  async get(key: string) {
    return this.#values.get(key);
  }

  async put(key: string, text: string | undefined, revision: number): Promise<boolean> {
    if ((this.#values.get(key)?.revision ?? 0) !== revision) return false;
    if (text === undefined) this.#values.delete(key);
    else this.#values.set(key, { text, revision: ++this.#revision });
    return true;
  }

  async *keys() {
    yield* [...this.#values.keys()];
  }
}

let backend: MapKeyValue;

sessionStoreSuite({
  name: 'KeyValueSession, from the guide',
  create: () => {
    backend = new MapKeyValue();
    return new KeyValueSession(backend);
  },
  reopen: () => new KeyValueSession(backend),
});

test('the guide shows this very store, in about 120 lines', () => {
  const code = readFileSync(join(import.meta.dirname, 'key-value-session.ts'), 'utf8');
  const guide = readFileSync(join(import.meta.dirname, '../../../../docs/write-a-session-store.md'), 'utf8');
  expect(guide).toContain(`\`\`\`ts\n${code}\`\`\``);
  expect(code.split('\n').length).toBeLessThanOrEqual(125);
});

test('a backend that fails, or holds no session, fails the load', async () => {
  const key = SessionKey.of('s');
  const failing = {
    get: () => Promise.reject(new Error('no route')),
    put: async () => false,
    async *keys() {},
  };
  await expect(new KeyValueSession(failing).load(key)).rejects.toMatchObject({ code: 'session_unavailable' });
  const damaged = new MapKeyValue();
  await damaged.put(key.toString(), '{"version":', 0);
  await expect(new KeyValueSession(damaged).load(key)).rejects.toMatchObject({ code: 'session_corrupt' });
});
