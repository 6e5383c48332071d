import { InvalidInputError } from '@x/core';
import { parseWith } from '@x/core/internal';
import { type ConnectionOptions, type Job, Queue, Worker } from 'bullmq';
import * as z from 'zod';
import type { ExecuteTask, TaskOrder, TaskRunner } from '../capabilities/subagents/tasks.js';

const optionsSchema = z.strictObject({
  /** Options or a client for Redis, as BullMQ takes them. A client that is given stays the caller's. */
  connection: z.custom<ConnectionOptions>(
    (value) => typeof value === 'object' && value !== null,
    'must be given',
  ),
  /** Prefix of the names of queues. Default `x-tasks`. */
  queueName: z.string().min(1).default('x-tasks'),
  /** Prefix of every key. Default BullMQ's own, `bull`. */
  prefix: z.string().min(1).optional(),
  /** Tasks that this process carries out at a time; 0: it gives tasks to others and carries out none. */
  concurrency: z.int().min(0).default(8),
  /** Times that a task is begun, at most: processes that die or shut down pass it on. */
  maxAttempts: z.int().min(1).default(5),
  /** Milliseconds after which the task of a process that died goes to another. */
  stalledMs: z.int().min(100).default(30_000),
});

export type BullmqTaskRunnerOptions = z.input<typeof optionsSchema>;

/** Milliseconds before a job that was given back is begun again; doubles each time. */
const RETRY_DELAY_MS = 200;
/** The reason for which a job is given back: not a failure of the task. */
const PASSED_ON = 'The process shut down; another one continues.';

/**
 * Runs subagents in any free process that has the same agent. If a process dies, another one continues from the last checkpoint.
 * All processes need the same subagents, session store and workspace. Of the runtime context, only the ids of tenant and user
 * travel along.
 *
 * @example
 * ```ts
 * const runner = bullmqTaskRunner({ connection: { host: '127.0.0.1', port: 6379 }, concurrency: 4 });
 * const builder = HarnessAgent.builder().use(subagents([], { runner }));
 * ```
 * @throws {InvalidInputError} for unknown or impossible options.
 */
export function bullmqTaskRunner(options: BullmqTaskRunnerOptions): TaskRunner {
  return new BullmqTaskRunner(parseWith(optionsSchema, options, 'bullmqTaskRunner options'));
}

class BullmqTaskRunner implements TaskRunner {
  readonly #options: z.output<typeof optionsSchema>;
  #queue: Queue<TaskOrder> | undefined;
  #worker: Worker<TaskOrder> | undefined;

  constructor(options: z.output<typeof optionsSchema>) {
    this.#options = options;
  }

  attach(agentName: string, execute: ExecuteTask): void {
    if (this.#queue !== undefined) {
      throw new InvalidInputError('bullmqTaskRunner', [
        { path: '', message: 'one runner serves one agent; make another for the second' },
      ]);
    }
    const { connection, queueName, prefix, concurrency, stalledMs, maxAttempts } = this.#options;
    const shared = { connection, ...(prefix === undefined ? {} : { prefix }) };
    // BullMQ refuses colons, which separate its keys.
    const name = `${queueName}-${encodeURIComponent(agentName)}`;
    this.#queue = new Queue<TaskOrder>(name, shared);
    this.#queue.on('error', report);
    if (concurrency === 0) return;
    this.#worker = new Worker<TaskOrder>(name, (job) => carryOut(job, execute), {
      ...shared,
      concurrency,
      lockDuration: stalledMs,
      stalledInterval: stalledMs,
      maxStalledCount: maxAttempts,
    });
    this.#worker.on('error', report);
  }

  async submit(order: TaskOrder): Promise<void> {
    if (this.#queue === undefined) throw new Error('The runner is not part of an agent yet.');
    // The subagent's session says how it ended; Redis need not.
    await this.#queue.add('task', order, {
      jobId: order.callId,
      attempts: this.#options.maxAttempts,
      backoff: { type: 'exponential', delay: RETRY_DELAY_MS },
      removeOnComplete: true,
      removeOnFail: true,
    });
  }

  async close(stopRunning: () => Promise<void>): Promise<void> {
    await this.#worker?.pause(true);
    try {
      await stopRunning();
    } finally {
      await this.#worker?.close();
      await this.#queue?.close();
    }
  }
}

async function carryOut(job: Job<TaskOrder>, execute: ExecuteTask): Promise<void> {
  const end = await execute(job.data);
  // A job that throws is tried again, by any free worker.
  if (end === 'again') throw new Error(PASSED_ON);
}

function report(error: Error): void {
  process.emitWarning(`The task queue: ${error.message}`);
}
