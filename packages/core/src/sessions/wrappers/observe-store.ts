import { XError } from '../../errors/x-error.js';
import { notify } from '../../lib/notify.js';
import type { SessionKey } from '../session-key.js';
import type { SessionStore } from '../session-store.js';
import { type LeaseOperation, wrapLeases, wrapStore } from './wrap-store.js';

/** An operation of a store that has ended. */
export interface StoreOperation {
  readonly operation: 'load' | 'commit' | 'delete' | 'list' | `leases.${LeaseOperation}`;
  readonly key?: SessionKey | undefined;
  /** The name of the collection; `undefined` for sessions. */
  readonly collection: string | undefined;
  readonly durationMs: number;
  /** `ok`; `held` if another claim has the lease; else the code of the error, such as `session_conflict`. */
  readonly outcome: string;
}

/**
 * Calls an observer after every operation of a store, for metrics of latency, conflicts and lease waits. If the observer throws, a
 * warning is logged and the operation continues.
 *
 * @example
 * ```ts
 * const store = observeStore(new InMemorySession(), ({ operation, outcome, durationMs }) => {
 *   console.log(operation, outcome, durationMs);
 * });
 * ```
 */
export function observeStore(store: SessionStore, observe: (ended: StoreOperation) => void): SessionStore {
  return wrapStore(store, (inner, collection) => {
    const begin = (operation: StoreOperation['operation'], key?: SessionKey) => {
      const startedAt = performance.now();
      return (outcome: string) =>
        notify('observeStore', observe, {
          operation,
          key,
          collection,
          durationMs: performance.now() - startedAt,
          outcome,
        });
    };
    const watch = async <T>(
      operation: StoreOperation['operation'],
      key: SessionKey,
      task: () => Promise<T>,
      outcomeOf = (_: T) => 'ok',
    ): Promise<T> => {
      const end = begin(operation, key);
      try {
        const result = await task();
        end(outcomeOf(result));
        return result;
      } catch (error) {
        end(codeOf(error));
        throw error;
      }
    };
    const { leases } = inner;
    return {
      load: (key, options) => watch('load', key, () => inner.load(key, options)),
      commit: (key, change) => watch('commit', key, () => inner.commit(key, change)),
      delete: (key, options) => watch('delete', key, () => inner.delete(key, options)),
      async *list(scope, options) {
        const end = begin('list');
        let outcome = 'ok';
        try {
          yield* inner.list(scope, options);
        } catch (error) {
          outcome = codeOf(error);
          throw error;
        } finally {
          end(outcome);
        }
      },
      ...(leases && {
        leases: wrapLeases(leases, (operation, key, task) => {
          const isHeld = (answer: unknown) => operation === 'take' && answer === undefined;
          return watch(`leases.${operation}`, key, task, (answer) => (isHeld(answer) ? 'held' : 'ok'));
        }),
      }),
    };
  });
}

function codeOf(error: unknown): string {
  return XError.isInstance(error) ? error.code : 'error';
}
