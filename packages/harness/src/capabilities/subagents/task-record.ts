import { z } from 'zod';

const status = z.enum(['pending', 'running', 'completed', 'failed', 'cancelled']);

/** One piece of work that a parent gave a subagent. Fields that a newer version wrote are kept. */
export const taskRecordSchema = z.looseObject({
  taskId: z.string().min(1),
  /** The subagent's own session, as tools name it: `explorer-1a2b3c`. */
  agentId: z.string().min(1),
  subagent: z.string().min(1),
  /** The beginning of what it was told. */
  task: z.string(),
  status,
  /** The process that runs it. */
  runner: z.string().optional(),
  cancelRequested: z.boolean().default(false),
  /** ISO 8601, UTC; so are the times below. */
  createdAt: z.string(),
  /** When its process last showed that it lives. */
  heartbeatAt: z.string(),
  endedAt: z.string().optional(),
  /** The answer, or its beginning where `resultPath` has it whole. */
  result: z.string().optional(),
  resultPath: z.string().optional(),
  /** Why it failed, and what can be done. */
  error: z.string().optional(),
});

export type TaskRecord = Readonly<z.output<typeof taskRecordSchema>>;
export type TaskStatus = z.output<typeof status>;

/** Whether nothing more will happen to it. */
export function isEnded({ status }: Pick<TaskRecord, 'status'>): boolean {
  return status !== 'pending' && status !== 'running';
}
