import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AgentEvent, type Message, toolResultsOf, toolUsesOf } from '@x/core';
import { afterAll } from 'vitest';

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

export async function collect(stream: AsyncIterable<AgentEvent>): Promise<AgentEvent[]> {
  const events: AgentEvent[] = [];
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
