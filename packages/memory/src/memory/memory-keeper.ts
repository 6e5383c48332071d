import {
  type AgentEventBody,
  type CallScope,
  CapabilityError,
  errorText,
  type Model,
  SessionKey,
  type SessionStore,
  type Workspace,
} from '@x/core';
import { MemoryConsolidator } from '../consolidate/consolidator.js';
import { MemoryFlushManager } from '../flush/flush-manager.js';
import { MemoryMaintenanceScheduler } from '../maintenance/maintenance-scheduler.js';
import { readIfFound } from '../memory-files.js';
import type { MemoryIndex } from '../memory-index.js';
import { sessionPlace } from '../memory-scope.js';
import { WorkQueue } from '../work-queue.js';
import type { MemorySettings } from './memory-config.js';

/** Sessions that are flushed at a time, and that may wait for it. */
const QUEUE = { concurrency: 2, maxWaiting: 1_000 };
/** Sessions that were throttled and are flushed when the agent closes. */
const MOST_LEFT = 100;

export interface KeeperOptions {
  readonly workspace: Workspace;
  /** Where leases for the maintenance come from. */
  readonly store?: SessionStore | undefined;
  readonly settings: MemorySettings;
  readonly openIndex: () => Promise<MemoryIndex>;
  /** The index, if it is open already. */
  readonly openedIndex: () => Promise<MemoryIndex> | undefined;
}

/** What the memory capability does in one workspace beside the calls: flush, consolidate, maintain. */
export class MemoryKeeper {
  readonly #options: KeeperOptions;
  readonly #flusher: MemoryFlushManager;
  readonly #scheduler: MemoryMaintenanceScheduler;
  readonly #queue = new WorkQueue(QUEUE);
  /** By session, what flushes it without regard to the throttle. */
  readonly #left = new Map<string, () => Promise<void>>();
  /** Where failures of the timer's passes are told: to whom a call was last. */
  #emit: ((event: AgentEventBody) => void) | undefined;
  #model: Model | null;

  constructor(options: KeeperOptions) {
    const { workspace, store, settings, openIndex } = options;
    this.#options = options;
    this.#model = settings.model ?? null;
    const { flush, flushGapMs, maxBullets, maxBulletChars, maxBatchTokens, maxBatches } = settings;
    const { flushPrompt, redact } = settings;
    this.#flusher = new MemoryFlushManager({
      workspace,
      flush,
      flushGapMs,
      maxBullets,
      maxBulletChars,
      maxBatchTokens,
      maxBatches,
      flushPrompt,
      redact,
    });
    const { maxMemoryTokens, keepVersions, maxNotesTokens, consolidationPrompt } = settings;
    const consolidator = new MemoryConsolidator({
      workspace,
      // The agent's model is known when its first call runs.
      model: () => this.#model,
      maxMemoryTokens,
      keepVersions,
      maxNotesTokens,
      consolidationPrompt,
    });
    this.#scheduler = new MemoryMaintenanceScheduler({
      workspace,
      store,
      consolidator,
      index: {
        maintain: async (...parameters) => {
          const index = await openIndex();
          if (!index.readOnly) await index.maintain(...parameters);
        },
      },
      consolidationGapMs: settings.consolidationGapMs,
      ...(settings.maintenance === false ? {} : settings.maintenance),
      onReport: ({ failures }) => {
        if (failures.length === 0) return;
        this.#emit?.({ type: 'memory.failed', operation: 'maintenance', error: failures.join('; ') });
      },
    });
  }

  /** Flushes the session of a call in the background. */
  flush(scope: CallScope, reason: 'turn' | 'compaction'): void {
    const { settings } = this.#options;
    // Not before there was a call: an agent that is built and not used leaves no trace.
    if (settings.maintenance !== false) this.#scheduler.start();
    this.#emit = scope.emit;
    if (settings.model === undefined) this.#model = scope.model;
    if (settings.flush === 'never' && !settings.consolidate) return;
    scope.background('memory', async (signal) => {
      await this.#queue
        .add(scope.log.location, reason, () => this.#work(scope, reason, signal))
        .catch((error: unknown) => fail(scope, 'flush', error));
    });
  }

  /** Flushes what was throttled, and waits for what is under way. */
  async close(): Promise<void> {
    for (const [location, task] of this.#left) await this.#queue.add(location, 'last', task);
    this.#left.clear();
    await this.#scheduler.close();
  }

  async #work(
    scope: CallScope,
    reason: 'turn' | 'compaction' | 'manual',
    signal?: AbortSignal,
  ): Promise<void> {
    const { settings } = this.#options;
    const model = settings.model === undefined ? scope.model : settings.model;
    const options = { model, signal, emit: scope.emit };
    try {
      const session = sessionOf(scope);
      const { status, paths } = await this.#flusher.flush(session, { ...options, reason });
      this.#leave(scope, status === 'throttled');
      for (const path of paths) await this.#index(path);
    } catch (error) {
      fail(scope, 'flush', error);
    }
    if (!settings.consolidate || reason === 'compaction') return;
    try {
      const { tenantId, userId } = scope.state;
      await this.#scheduler.requestConsolidation({ tenantId, userId, agentId: scope.agentId }, options);
    } catch (error) {
      fail(scope, 'consolidation', error);
    }
  }

  /** Remembers a session whose flush was put off, for the case that it has no further call. */
  #leave(scope: CallScope, putOff: boolean): void {
    const { location } = scope.log;
    this.#left.delete(location);
    if (!putOff) return;
    this.#left.set(location, () => this.#work(scope, 'manual'));
    const oldest = this.#left.keys().next().value;
    if (this.#left.size > MOST_LEFT && oldest !== undefined) this.#left.delete(oldest);
  }

  async #index(path: string): Promise<void> {
    const index = await this.#options.openedIndex();
    if (index === undefined || index.readOnly) return;
    const text = await readIfFound(this.#options.workspace, path);
    if (text !== undefined) await index.indexFromString(path, text);
  }
}

/** The session whose log this is: the memory lies beside it. */
function sessionOf({ state, agentId, log }: CallScope): SessionKey {
  const { tenantId, userId, sessionId } = state;
  const key = SessionKey.of({ tenantId, userId, agentId, sessionId });
  if (sessionPlace(key).log === log.location) return key;
  throw new CapabilityError(
    'memory',
    `Memory needs the session's log at ${sessionPlace(key).log} in the workspace, but it is at ${log.location}.`,
  );
}

function fail(scope: CallScope, operation: 'flush' | 'consolidation', error: unknown): void {
  const message = errorText(error);
  scope.emit({ type: 'memory.failed', operation, error: message });
}
