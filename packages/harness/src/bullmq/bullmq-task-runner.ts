import { InvalidInputError } from '@x/core';
import { parseWith } from '@x/core/internal';
import { type ConnectionOptions, type Job, Queue, Worker } from 'bullmq';
import * as z from 'zod';
import type { ExecuteTask, TaskOrder, TaskRunner } from '../capabilities/subagents/tasks.js';

const optionsSchema = z.strictObject({
  /** Options or a client for Redis, as BullMQ accepts them. The caller owns the client and closes it. */
  connection: z.custom<ConnectionOptions>(
    (value) => typeof value === 'object' && value !== null,
    'is required',
  ),
  /** Prefix of queue names. Default `x-tasks`. */
  queueName: z.string().min(1).default('x-tasks'),
  /** Prefix of every key. Default: `bull`, the default of BullMQ. */
  prefix: z.string().min(1).optional(),
  /** Maximum number of tasks that this process runs concurrently; 0: it only enqueues tasks. */
  concurrency: z.int().min(0).default(8),
  /** Maximum number of attempts per task. A process that dies or shuts down uses up one attempt. */
  maxAttempts: z.int().min(1).default(5),
  /** Milliseconds after which a task of a dead process is retried by another process. */
  stalledMs: z.int().min(100).default(30_000),
});

export type BullmqTaskRunnerOptions = z.input<typeof optionsSchema>;

/** Milliseconds before a returned job is retried; doubles each time. */
const RETRY_DELAY_MS = 200;
/** Error message of a job that a shutdown returns to the queue. The task itself did not fail. */
const PASSED_ON = 'The process shut down; another one continues.';

/**
 * Runs subagents in any free process that has the same agent. If a process dies, another one continues from the last checkpoint. All
 * processes need the same subagents, session store and workspace. Of the runtime context, only the tenant and user ids are transferred.
 *
 * @example
 * ```ts
 * const runner = bullmqTaskRunner({ connection: { host: '127.0.0.1', port: 6379 }, concurrency: 4 });
 * const builder = HarnessAgent.builder().use(subagents([], { runner }));
 * ```
 * @throws {InvalidInputError} for unknown or invalid options.
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
        { path: '', message: 'the runner is already part of another agent; create one for each agent' },
      ]);
    }
    const { connection, queueName, prefix, concurrency, stalledMs, maxAttempts } = this.#options;
    const shared = { connection, ...(prefix === undefined ? {} : { prefix }) };
    // BullMQ rejects names with colons, which separate its keys.
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
    if (this.#queue === undefined)
      throw new Error(
        'The task runner is not part of an agent yet. Pass it to subagents(…, { runner }) first.',
      );
    // The subagent's session records how the task ended, so Redis need not keep it.
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
  // BullMQ retries a job that throws, on any free worker.
  if (end === 'again') throw new Error(PASSED_ON);
}

function report(error: Error): void {
  process.emitWarning(`The task queue: ${error.message}`);
}
