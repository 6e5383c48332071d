import { signal } from '@preact/signals';
import type { MemoryLine, MemoryOverview } from '../../../src/server/memory-shelf.js';
import { ApiError, api } from './api.js';

export const overview = signal<MemoryOverview | undefined>(undefined);
/** The file that is shown. */
export const shown = signal<{ readonly path: string; readonly text: string } | undefined>(undefined);
/** The line that was asked for, from 1. */
export const markedLine = signal<number | undefined>(undefined);
export const hits = signal<readonly MemoryLine[] | undefined>(undefined);
export const memoryFailure = signal('');

let asked = 0;

/** What there is, and the first of it. */
export async function loadMemory(): Promise<void> {
  await attempt(async () => {
    overview.value = await api.memory();
    const path = shown.peek()?.path ?? overview.value.files[0]?.path;
    if (path !== undefined) shown.value = await api.memoryFile(path);
  });
}

export async function showFile(path: string, line?: number): Promise<void> {
  await attempt(async () => {
    shown.value = await api.memoryFile(path);
    markedLine.value = line;
  });
}

/** The lines with these words; none asked for: no hits are shown. */
export async function searchMemory(query: string): Promise<void> {
  const turn = ++asked;
  if (!query.trim()) {
    hits.value = undefined;
    return;
  }
  await attempt(async () => {
    const found = await api.searchMemory(query);
    if (turn === asked) hits.value = found;
  });
}

export async function restoreVersion(id: string): Promise<void> {
  await attempt(async () => {
    await api.restoreMemory(id);
    shown.value = undefined;
    await loadMemory();
  });
}

async function attempt(action: () => Promise<void>): Promise<void> {
  try {
    memoryFailure.value = '';
    await action();
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    memoryFailure.value = error.message;
  }
}
