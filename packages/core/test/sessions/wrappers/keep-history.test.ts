import { expect, it } from 'vitest';
import {
  eraseSession,
  InMemorySession,
  keepHistory,
  openSession,
  SessionKey,
  userMessage,
} from '../../../src/index.js';

const key = SessionKey.of({ userId: 'alice', sessionId: 's' });

async function write(store: InMemorySession | ReturnType<typeof keepHistory>, turns: number): Promise<void> {
  const session = await openSession(store, key);
  for (let turn = 0; turn < turns; turn++) {
    session.state.contextMutable().push(userMessage('Hi'));
    await session.commit();
  }
}

it('keeps so many states at least, and a bounded number of them', async () => {
  const inner = new InMemorySession();
  const store = keepHistory(inner, { versions: 3 });
  await write(store, 20);
  const versions: number[] = [];
  for await (const { version, messages } of store.history(key)) {
    expect(messages).toHaveLength(version);
    versions.push(version);
  }
  expect(versions.slice(0, 3)).toEqual([20, 19, 18]);
  expect(versions.length).toBeLessThan(8);
  expect(() => keepHistory(inner, { versions: 0 })).toThrow('versions');
});

it('begins with a session that was there before, and goes with it', async () => {
  const inner = new InMemorySession();
  await write(inner, 2);
  const store = keepHistory(inner);
  await write(store, 2);
  const states: number[] = [];
  for await (const { messages } of store.history(key)) states.push(messages.length);
  expect(states).toEqual([4, 3]);
  expect(await eraseSession({ session: inner, storage: undefined }, key)).toEqual({ sessions: 2, files: 0 });
});
