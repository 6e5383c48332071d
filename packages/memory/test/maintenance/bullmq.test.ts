import { randomUUID } from 'node:crypto';
import { dirname } from 'node:path';
import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { expect, inject, it, onTestFinished } from 'vitest';
import { MemoryService } from '../../src/index.js';
import type { MaintenanceReport } from '../../src/maintenance.js';
import { merger } from '../support/models.js';
import { storageIn, testWorkspace } from '../support/test-context.js';

it('maintains a fleet’s memory as a repeated job: however many workers, each place is maintained by one', async () => {
  const workspace = await testWorkspace();
  await workspace.write('users/alice/memory/2026-01-01.md', '- fact-1\n');
  const connection = new Redis(inject('redisUrl'), { maxRetriesPerRequest: null });
  onTestFinished(() => connection.disconnect());
  const name = `memory-maintenance-${randomUUID()}`;
  const queue = new Queue(name, { connection });
  onTestFinished(async () => {
    await queue.obliterate({ force: true });
    await queue.close();
  });

  const reports: MaintenanceReport[] = [];
  const models = [merger(), merger()];
  // As two processes do: each declares the same schedule, and works on it.
  for (const model of models) {
    const scheduler = new MemoryService({ workspace: storageIn(dirname(workspace.root)), model });
    await queue.upsertJobScheduler('every', { every: 300 }, { name: 'maintain' });
    const worker = new Worker<undefined, MaintenanceReport>(name, () => scheduler.maintain(), { connection });
    worker.on('completed', (_, report) => void reports.push(report));
    onTestFinished(async () => {
      await worker.close();
      await scheduler.close();
    });
  }
  expect(await queue.getJobSchedulersCount()).toBe(1);

  // Jobs that come while a pass takes its time leave the place to it.
  await expect.poll(() => reports.length, { timeout: 50_000 }).toBeGreaterThanOrEqual(2);
  await expect.poll(() => reports.filter(({ consolidated }) => consolidated === 1)).toHaveLength(1);
  expect(reports.filter(({ consolidated }) => consolidated === 1)).toHaveLength(1);
  expect(models.reduce((sum, { prompts }) => sum + prompts.length, 0)).toBe(1);
  expect(Buffer.from(await workspace.read('users/alice/MEMORY.md')).toString()).toContain('fact-1');
});
