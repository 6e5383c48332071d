import { createCompactor, defaultCounter } from '@x/compaction';
import {
  assistantMessage,
  type Compactor,
  countMessages,
  type Message,
  type ToolUseBlock,
  toolResultMessage,
  userMessage,
} from '@x/core';
import { readCorpus } from './corpus.js';
import { median } from './statistics.js';

const LENGTHS = [500, 2_000, 8_000];
const REPEATS = 9;
const OPTIONS = { contextWindow: 128_000, triggerMessages: 0, triggerTokens: 0 };
/** UTF-16 units of a tool's result. */
const RESULT = 1_000;
/** A request every so many rounds. */
const ROUNDS_PER_REQUEST = 25;

export interface CompactionResult {
  readonly messages: number;
  /** Milliseconds, median: counting every message, and a compaction, which counts every message too. */
  readonly counting: number;
  readonly compaction: number;
  /** What the compaction takes on top of counting. */
  readonly onTop: number;
  /** The same of a session that ran with the compactor, which looked at each message as it came. */
  readonly live: number;
}

/**
 * What a compaction without a model takes on top of counting, for conversations of 500, 2 000 and 8 000 messages: once for
 * a session that runs (the facts for the ledger were taken from each message as it came), and once for messages that
 * nobody has looked at before. Nothing is cached from an earlier run. Counting and compacting take turns.
 */
export async function benchCompaction(): Promise<readonly CompactionResult[]> {
  const results: CompactionResult[] = [];
  for (const messages of LENGTHS) results.push(await measure(messages));
  console.table(
    results.map(({ messages, counting, compaction, onTop, live }) => ({
      messages,
      'ms counting': round(counting),
      'ms on top, running session': round(live),
      'µs a message': round((live * 1_000) / messages),
      'ms unseen': round(compaction),
      'ms on top, unseen': round(onTop),
    })),
  );
  return results;
}

async function measure(length: number): Promise<CompactionResult> {
  const counting: number[] = [];
  const unseen: number[] = [];
  const live: number[] = [];
  // The first ones warm the engine up, and do not count.
  for (let run = -3; run < REPEATS; run++) {
    const counted = await timed(conversation(length), async (messages) => {
      countMessages(defaultCounter, messages);
    });
    const fresh = await timed(conversation(length), (messages) =>
      compact(createCompactor(OPTIONS), messages),
    );

    const running = conversation(length);
    const compactor = createCompactor(OPTIONS);
    // Not due: the window is large. It is what a session does before each model call.
    await compactor.compact(running, { reason: 'proactive_budget', contextWindow: 100_000_000 });
    const seen = await timed(running, (messages) => compact(compactor, messages));
    if (run < 0) continue;
    counting.push(counted);
    unseen.push(fresh);
    live.push(seen);
  }
  const [count, compaction] = [median(counting), median(unseen)];
  return { messages: length, counting: count, compaction, onTop: compaction - count, live: median(live) };
}

async function timed(
  messages: readonly Message[],
  task: (messages: readonly Message[]) => Promise<void>,
): Promise<number> {
  const startedAt = performance.now();
  await task(messages);
  return performance.now() - startedAt;
}

async function compact(compactor: Compactor, messages: readonly Message[]): Promise<void> {
  const { status, reason } = await compactor.compact(messages);
  if (status !== 'applied') throw new Error(`The compaction was ${status}: ${reason}`);
}

let texts: readonly string[] | undefined;

/** New message objects each time, of the same texts: code, prose and JSON in turn. */
function conversation(length: number): readonly Message[] {
  texts ??= (['code', 'prose', 'json'] as const)
    .map((kind) => readCorpus(kind))
    .reduce<string[][]>((rows, column) => column.map((text, index) => [...(rows[index] ?? []), text]), [])
    .flat();
  const messages: Message[] = [];
  for (let round = 0; messages.length < length; round++) {
    if (round % ROUNDS_PER_REQUEST === 0)
      messages.push(userMessage(`Fix what is wrong in src/part${round}.ts.`));
    const text = (texts[round % texts.length] ?? '').slice(0, RESULT);
    const call: ToolUseBlock = {
      type: 'tool_use',
      id: `call-${round}`,
      name: 'read_file',
      input: { path: `src/part${round}/file${round % 97}.ts` },
    };
    messages.push(
      assistantMessage([{ type: 'text', text: `Now I look at part ${round}.` }, call]),
      toolResultMessage(call, text),
    );
  }
  return messages.slice(0, length - 1).concat(assistantMessage('Done.'));
}

function round(milliseconds: number): number {
  return Number(milliseconds.toFixed(2));
}
