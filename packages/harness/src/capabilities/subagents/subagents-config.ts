import { type Clock, type Model, parseWith } from '@x/core';
import * as z from 'zod';
import type { AgentSettings } from '../../agent/agent-parts.js';
import type { TaskRunner } from './task-runner.js';

/** The capability's. */
export const NAME = 'subagents';

/** What a parent remembers is its own. */
export const WITHHELD = ['memory', 'session_history'];

const milliseconds = z.int().min(0);

export const subagentsConfigSchema = z.strictObject({
  /** A folder of the workspace with one Markdown file a subagent; empty: none is read. */
  folder: z.string().default('subagents'),
  /** Adds a subagent for any task, named `general-purpose`. */
  generalPurpose: z.boolean().default(true),
  /** Levels of subagents below the agent; 1: subagents have none of their own. */
  maxDepth: z.int().min(1).max(5).default(2),
  /** Tasks of one session that may run at a time. */
  maxRunning: z.int().min(1).default(8),
  /** Milliseconds that a tool waits for a subagent, unless the model says otherwise, before it goes on in the background. */
  timeoutMs: milliseconds.default(120_000),
  /** The most that the model may ask for. */
  maxTimeoutMs: milliseconds.default(600_000),
  /** Milliseconds that a task waits for a process to take it from the queue; then it counts as failed. */
  pendingMs: z.int().min(1).default(300_000),
  /** Milliseconds between looks at a task that another process runs. */
  pollMs: z.int().min(1).default(500),
  /** Tasks that a session remembers; the oldest whose end the model knows are forgotten first. */
  maxRecords: z.int().min(1).default(100),
  /** Names of capabilities that subagents do not get. */
  withhold: z.array(z.string()).default(WITHHELD),
  /** The queue that carries tasks to other processes. Default: subagents run in this process. */
  runner: z.custom<TaskRunner>().optional(),
  /** Models that definitions name. */
  models: z.record(z.string(), z.custom<Model>()).default({}),
  /** Settings of every subagent, such as `limits`. */
  settings: z.custom<Partial<AgentSettings>>().default({}),
  clock: z.custom<Clock>().optional(),
});

export type SubagentsConfig = z.input<typeof subagentsConfigSchema>;
export type SubagentsSettings = z.output<typeof subagentsConfigSchema>;

/** @throws {InvalidInputError} naming the path of every bad field. */
export function parseSubagentsConfig(config: SubagentsConfig): SubagentsSettings {
  return parseWith(subagentsConfigSchema, config, 'subagents configuration');
}
