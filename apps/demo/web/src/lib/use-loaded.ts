import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { ApiError } from '../state/api.js';

interface Loaded<Value> {
  readonly value?: Value | undefined;
  /** The reason why loading failed; empty otherwise. */
  readonly failure: string;
}

/** Loads a value when `inputs` change. The previous value stays until the next one is loaded. */
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
