import { computed, signal } from '@preact/signals';
import type { FileInfo, SessionSummary } from '../../../src/server/backend.js';
import { ApiError, api } from './api.js';

export const sessions = signal<readonly SessionSummary[]>([]);
export const search = signal('');
/** Whether the list could not be loaded. */
export const sessionsFailed = signal(false);

export const foundSessions = computed(() => {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  return sessions.value.filter(({ title }) => words.every((word) => title.toLowerCase().includes(word)));
});

export async function refreshSessions(): Promise<void> {
  try {
    sessions.value = await api.sessions();
    sessionsFailed.value = false;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    sessionsFailed.value = true;
  }
}

/** Deletes a session. Whether it is gone. */
export async function removeSession(id: string): Promise<boolean> {
  try {
    await api.remove(id);
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'session_not_found') return false;
  } finally {
    await refreshSessions();
  }
  return true;
}

/** What the agent has written, the newest first. */
export const files = signal<readonly FileInfo[]>([]);

export async function loadFiles(): Promise<void> {
  try {
    files.value = await api.files();
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
  }
}
