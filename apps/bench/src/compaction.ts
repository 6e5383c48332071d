import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { median } from './statistics.js';

const LENGTHS = [500, 2_000, 8_000];
const PROCESSES = 3;
const CHILD = fileURLToPath(new URL('./compaction-child.ts', import.meta.url));

/** Milliseconds, medians. But for `counting` they are what a compaction takes on top of counting. */
export interface CompactionTimes {
  readonly messages: number;
  /** Counting the tokens of every message. */
  readonly counting: number;
  /** A session that ran with the compactor, which looked at each message as it came. */
  readonly running: number;
  /** Messages that nobody has looked at, with names that were met before: another session of the same project. */
  readonly unseen: number;
  /** Messages that nobody has looked at, with names that were never met. */
  readonly unheard: number;
  /** The same in the first compaction of its process: none of the code is compiled yet. */
  readonly first: number;
}

/**
 * What a compaction without a model takes on top of counting, for conversations of 500, 2 000 and 8 000 messages. All
 * messages are new objects; all but those of the running session are counted and then compacted by a compactor that
 * has seen none of them. Warm code is measured but for the last column: the difference is what compiling takes.
 */
export async function benchCompaction(): Promise<readonly CompactionTimes[]> {
  const results = LENGTHS.map((length) => measure(length));
  console.table(
    results.map(({ messages, counting, running, unseen, unheard, first }) => ({
      messages,
      'ms counting': round(counting),
      'on top, running session': round(running),
      'on top, unseen': round(unseen),
      'on top, unseen, new names': round(unheard),
      'on top, first in its process': round(first),
    })),
  );
  return results;
}

function measure(length: number): CompactionTimes {
  const runs = Array.from({ length: PROCESSES }, () => inProcess(length));
  const middle = (key: keyof CompactionTimes) => median(runs.map((run) => run[key]));
  return {
    messages: length,
    counting: middle('counting'),
    running: middle('running'),
    unseen: middle('unseen'),
    unheard: middle('unheard'),
    first: middle('first'),
  };
}

function inProcess(length: number): CompactionTimes {
  const { status, stdout, stderr } = spawnSync(process.execPath, [...process.execArgv, CHILD, `${length}`], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`The process that compacts ${length} messages failed: ${stderr}`);
  return JSON.parse(stdout) as CompactionTimes;
}

function round(milliseconds: number): number {
  return Number(milliseconds.toFixed(1));
}
