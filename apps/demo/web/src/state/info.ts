import { computed, signal } from '@preact/signals';
import type { BackendInfo } from '../../../src/server/backend.js';
import { ApiError, api } from './api.js';

export const info = signal<BackendInfo | undefined>(undefined);

/** Which model answers, in words. */
export const modelLine = computed(() => {
  const model = info.value?.model;
  if (!model) return '';
  return model.embedded ? `${model.id}: rules, no LLM` : model.id;
});

/** Asks until the server answers: without it the page has nothing to show. */
export async function loadInfo(): Promise<void> {
  for (let delay = 500; info.peek() === undefined; delay = Math.min(delay * 2, 10_000)) {
    try {
      info.value = await api.info();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      await new Promise((resolve) => setTimeout(resolve, delay));
    }
  }
}
