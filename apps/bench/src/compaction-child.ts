// Compactions in a process of their own: what else a process has loaded can double what reading a text takes.
import { createCompactor } from '@x/compaction';
import { type Compactor, countMessages, estimateCounter, type Message } from '@x/core';
import type { CompactionTimes } from './compaction.js';
import { conversation } from './compaction-conversation.js';
import { median } from './statistics.js';

const WARM_UP = 5;
const REPEATS = 15;
const length = Number(process.argv[2]);

const alive = conversation(length, mark(0));
countMessages(estimateCounter, alive);
// Before anything else: no code is compiled yet.
const first = await timed(() => compact(compactor(), alive));

const times = {
  counting: [] as number[],
  running: [] as number[],
  unseen: [] as number[],
  unheard: [] as number[],
};
for (let run = -WARM_UP; run < REPEATS; run++) {
  const unseen = conversation(length, mark(0));
  const counting = await timed(() => countMessages(estimateCounter, unseen));
  const ofKnownNames = await timed(() => compact(compactor(), unseen));

  const unheard = conversation(length, mark(WARM_UP + run + 1));
  countMessages(estimateCounter, unheard);
  const ofNewNames = await timed(() => compact(compactor(), unheard));

  const running = conversation(length, mark(0));
  const session = compactor();
  // Not due: the window is large. It is what a session does before each model call.
  await session.compact(running, { reason: 'proactive_budget', contextWindow: 100_000_000 });
  const ofSession = await timed(() => compact(session, running));
  if (run < 0) continue;
  times.counting.push(counting);
  times.running.push(ofSession);
  times.unseen.push(ofKnownNames);
  times.unheard.push(ofNewNames);
}

const result: CompactionTimes = {
  // To be named at the end keeps it alive: compiled code goes with the last object of a shape that it was made for.
  messages: alive.length,
  first,
  counting: median(times.counting),
  running: median(times.running),
  unseen: median(times.unseen),
  unheard: median(times.unheard),
};
process.stdout.write(JSON.stringify(result));

function compactor(): Compactor {
  return createCompactor({ contextWindow: 128_000 });
}

async function compact(compacting: Compactor, messages: readonly Message[]): Promise<void> {
  const { status, reason } = await compacting.compact(messages);
  if (status !== 'applied') throw new Error(`The compaction was ${status}: ${reason}`);
}

async function timed(task: () => unknown): Promise<number> {
  // What was made before, the messages most of all, is moved out of the way: not the task is to pay for that.
  for (let pass = 0; pass < 2; pass++) globalThis.gc?.({ type: 'minor' });
  const startedAt = performance.now();
  await task();
  return performance.now() - startedAt;
}

/** Two letters, others for each number. */
function mark(number: number): string {
  return String.fromCharCode(97 + Math.floor(number / 26), 97 + (number % 26));
}
