import { mkdtempSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AgentEvent, type Message, type RuntimeContext, toolResultsOf, toolUsesOf } from '@x/core';
import { afterAll } from 'vitest';
import { type Decisions, type HarnessAgent, pendingCalls } from '../src/index.js';

const directories: string[] = [];

/** A new directory that is removed after the file's tests, when `onTestFinished` has closed whoever writes into it. */
export function scratch(): string {
  const directory = mkdtempSync(join(tmpdir(), 'x-harness-'));
  directories.push(directory);
  return directory;
}

afterAll(async () => {
  for (const directory of directories.splice(0)) {
    await rm(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  }
});

/** Turns decisions by the ids of calls, which scripts know, into decisions by approvals. Other ids stay. */
export async function decided(
  agent: HarnessAgent,
  context: RuntimeContext,
  byCall: Decisions,
): Promise<Decisions> {
  const state = await agent.state(context);
  const ids = new Map((state ? pendingCalls(state) : []).map(({ id, approvalId }) => [id, approvalId]));
  // A call that was decided on, and may still be decided otherwise.
  for (const { id, toolUseId } of state?.permissionContext.pending ?? []) ids.set(toolUseId, id);
  return Object.fromEntries(Object.entries(byCall).map(([id, decision]) => [ids.get(id) ?? id, decision]));
}

export async function collect<Item = AgentEvent>(stream: AsyncIterable<Item>): Promise<Item[]> {
  const events: Item[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

/** Whether every call has exactly one result, in the messages right behind it, and no result stands alone. */
export function isPaired(messages: readonly Message[]): boolean {
  let open = new Set<string>();
  for (const message of messages) {
    const results = toolResultsOf(message);
    if (results.length === 0) {
      if (open.size > 0) return false;
      open = new Set(toolUsesOf(message).map((use) => use.id));
    }
    for (const result of results) if (!open.delete(result.toolUseId)) return false;
  }
  return open.size === 0;
}

/** Killed, whether or not someone has collected its exit status yet. */
export function isDead(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return /^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return true;
  }
}
