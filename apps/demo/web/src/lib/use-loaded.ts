import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { ApiError } from '../state/api.js';

interface Loaded<Value> {
  readonly value?: Value | undefined;
  /** The reason why it could not be loaded; empty otherwise. */
  readonly failure: string;
}

/** Loads something when `inputs` change. The last value stays until the next one is there. */
export function useLoaded<Value>(
  load: () => Promise<Value> | undefined,
  inputs: readonly unknown[],
): Loaded<Value> {
  const loaded = useSignal<Loaded<Value>>({ failure: '' });
  useEffect(() => {
    let isCurrent = true;
    const set = (next: Loaded<Value>) => {
      if (isCurrent) loaded.value = next;
    };
    Promise.resolve(load()).then(
      (value) => set({ value, failure: '' }),
      (error: unknown) => {
        if (!(error instanceof ApiError)) throw error;
        set({ failure: error.message });
      },
    );
    return () => {
      isCurrent = false;
    };
  }, inputs);
  return loaded.value;
}
