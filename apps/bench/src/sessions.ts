import { SessionKey, type SessionStore } from '@x/core';
import { operationId } from '@x/core/store';
import { neededBytes, someHead, someMessages, someTurn } from './sessions-conversation.js';
import { type MeasuredStore, storeKinds, withStore } from './sessions-stores.js';
import { median, round, timed } from './statistics.js';

/** Lengths of the conversations in messages. */
const LENGTHS = [50, 5_000, 20_000] as const;
const SAMPLES = 100;
const WARM_UP = 20;
/** Rounds of a commit compared with raw commands. The first half is warm-up. */
const ROUNDS = 2_000;

/** Measures the cost of storing a conversation turn by turn, compared with raw commands, on dedicated servers. */
export async function benchSessions(): Promise<void> {
  const comparisons: object[] = [];
  const costs: Record<string, object> = {};
  for (const [name, kind] of Object.entries(storeKinds)) {
    await withStore(kind, async (measured) => {
      for (const [beside, raw] of Object.entries(measured.raw ?? {})) {
        comparisons.push({ commit: name, beside, ...(await byTurns(measured, raw)) });
      }
      costs[name] = await measure(measured);
    });
  }
  console.log('A commit of a turn, alternating with raw writes of the same bytes (medians)');
  console.table(comparisons);
  console.log(
    `A turn of ${neededBytes} bytes including the head, by the number of messages in the conversation ` +
      '(medians; bytes: bytes written / bytes of turn and head)',
  );
  console.table(costs);
}

async function byTurns(measured: MeasuredStore, raw: () => Promise<unknown>): Promise<object> {
  const turn = await begin(measured.store, 2);
  const bytesOf = async (task: () => Promise<unknown>) => {
    const before = await measured.written();
    for (let time = 0; time < SAMPLES; time++) await task();
    return round(((await measured.written()) - before) / SAMPLES / neededBytes, 2);
  };
  const bytes = { 'bytes ours': await bytesOf(turn), 'bytes raw': await bytesOf(raw) };
  const times: { readonly ours: number[]; readonly raw: number[] } = { ours: [], raw: [] };
  for (let round = 0; round < ROUNDS; round++) {
    times.ours.push(await timed(turn));
    times.raw.push(await timed(raw));
  }
  const [ours, other] = [median(times.ours.slice(ROUNDS / 2)), median(times.raw.slice(ROUNDS / 2))];
  return {
    'ms ours': round(ours, 3),
    'ms raw': round(other, 3),
    ratio: round(ours / other, 2),
    ...bytes,
  };
}

let sessions = 0;

/** Stores a conversation of this many messages. Returns a function that durably adds a question and an answer. */
async function begin(store: SessionStore, messages: number): Promise<() => Promise<void>> {
  const key = SessionKey.of({ userId: 'alice', sessionId: `s-${++sessions}` });
  let keep = 0;
  let expected: string | undefined;
  const add = async (append: ReturnType<typeof someMessages>) => {
    const operation = operationId();
    await store.commit(key, { operation, expected, head: someHead, keep, append });
    expected = operation;
    keep += append.length;
  };
  await add(someMessages(messages));
  return () => add(someTurn());
}

/** Measures turns at each length. The lengths alternate, so that a busy minute affects all of them. */
async function measure({ store, written }: MeasuredStore): Promise<object> {
  const taken = [];
  for (const length of LENGTHS) {
    taken.push({ length, turn: await begin(store, length), times: [] as number[], bytes: [] as number[] });
  }
  for (let round = 0; round < SAMPLES + WARM_UP; round++) {
    for (const { turn, times, bytes } of taken) {
      const before = await written();
      const time = await timed(turn);
      if (round < WARM_UP) continue;
      times.push(time);
      bytes.push((await written()) - before);
    }
  }
  const row: Record<string, number> = {};
  for (const { length, times } of taken) row[`ms at ${length}`] = round(median(times), 2);
  const [first, last] = [taken[0], taken.at(-1)].map((each) => median(each?.times ?? []));
  row.growth = round(Number(last) / Number(first), 2);
  for (const { length, bytes } of taken) row[`bytes at ${length}`] = round(median(bytes) / neededBytes, 2);
  return row;
}
