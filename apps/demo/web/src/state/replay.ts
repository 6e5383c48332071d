import { signal } from '@preact/signals';
import type { ReplayAnswer } from '../../../src/server/replay-answer.js';
import { ApiError, api } from './api.js';

export interface ReplaySettings {
  readonly window: string;
  readonly input: string;
  readonly output: string;
}

export const replaySettings = signal<ReplaySettings>({ window: '128000', input: '3', output: '15' });
export const replayFile = signal<File | undefined>(undefined);
export const replayed = signal<ReplayAnswer | undefined>(undefined);
export const replaying = signal(false);
export const replayFailure = signal<
  { readonly message: string; readonly fields: readonly string[] } | undefined
>(undefined);

let turn = 0;

/** Replays the chosen file with the settings as they are. */
export async function replay(): Promise<void> {
  const file = replayFile.peek();
  if (!file) return;
  const mine = ++turn;
  replaying.value = true;
  try {
    const answer = await api.replay(file, { ...replaySettings.peek() });
    if (mine !== turn) return;
    replayed.value = answer;
    replayFailure.value = undefined;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (mine !== turn) return;
    replayFailure.value = { message: error.message, fields: error.issues.map(({ path }) => path) };
  } finally {
    if (mine === turn) replaying.value = false;
  }
}
