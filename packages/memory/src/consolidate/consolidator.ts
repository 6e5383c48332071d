import { type AgentEventBody, InvalidInputError, type Model, ModelError, parseWith } from '@x/core';
import { askModel } from '../ask-model.js';
import { coreLock, exclusively } from '../exclusively.js';
import { mergeNotes } from '../mechanical/merge-notes.js';
import { CORE_FILE } from '../memory-files.js';
import { MemoryRefusedError } from '../memory-refused-error.js';
import { type MemoryScope, scopePrefix } from '../memory-scope.js';
import { checkMemory } from './check-memory.js';
import {
  type ConsolidationSettings,
  consolidatorSchema,
  type MemoryConsolidatorOptions,
} from './consolidation-config.js';
import { consolidationInstructions, consolidationPrompt } from './consolidation-prompt.js';
import { type ConsolidationState, readState, writeState } from './consolidation-state.js';
import { type MemoryText, readMemory, replaceMemory, settledState } from './memory-file.js';
import { type FreshNotes, freshNotes } from './new-notes.js';
import { listVersions, type MemoryVersion, readVersion } from './versions.js';

/** After so many answers in a row that were refused, notes are merged by rule: a consolidation always gets on. */
const MOST_REFUSALS = 3;

/** Options of one consolidation. */
export interface ConsolidationOptions {
  /** Instead of the consolidator's own. */
  readonly model?: Model | null | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly emit?: ((event: AgentEventBody) => void) | undefined;
}

/** What came of a consolidation. */
export interface ConsolidationOutcome {
  /**
   * `nothing`: all notes had been merged already. `conflict`: somebody changed MEMORY.md meanwhile; theirs stands, and
   * the notes that were not merged are the next time.
   */
  readonly status: 'consolidated' | 'nothing' | 'conflict';
  /** Lines of notes that were merged. */
  readonly lines: number;
}

/**
 * Merges the daily notes into `MEMORY.md`, the memory that stands in front of the agent. It knows of each note how much
 * of it has been merged, by content, so that a note that is written late is not missed; this and MEMORY.md change
 * together, also when the process dies in between. Who edits MEMORY.md meanwhile wins, and what it was before can be had
 * back.
 */
export class MemoryConsolidator {
  readonly #settings: ConsolidationSettings;

  /** @throws {InvalidInputError} for a malformed configuration. */
  constructor(options: MemoryConsolidatorOptions) {
    this.#settings = parseWith(consolidatorSchema, options, 'MemoryConsolidator options');
  }

  /**
   * Merges what the notes of a scope say beyond what was merged before.
   *
   * @throws {MemoryRefusedError} when the model's answers cannot be used; nothing was changed then.
   * @throws what the model and the workspace throw.
   */
  async consolidate(scope: MemoryScope, options: ConsolidationOptions = {}): Promise<ConsolidationOutcome> {
    return this.consolidateBelow(scopePrefix(scope), options);
  }

  /** @internal The same for a place in the workspace. */
  async consolidateBelow(prefix: string, options: ConsolidationOptions = {}): Promise<ConsolidationOutcome> {
    const { workspace, maxNotesTokens } = this.#settings;
    const model = this.#modelFor(options);
    const maxTokens = Math.min(maxNotesTokens, Math.ceil((model?.contextWindow ?? Infinity) / 3));
    const startedAt = performance.now();
    let lines = 0;
    let first: MemoryText;
    let last: MemoryText;
    for (let round = 0; ; round++) {
      const state = await exclusively(workspace, coreLock(prefix), () => settledState(workspace, prefix));
      const before = await readMemory(workspace, prefix);
      if (round === 0) first = before;
      last = before;
      const fresh = await freshNotes(workspace, prefix, state.notes, maxTokens);
      const taken = fresh.notes.reduce((sum, note) => sum + note.lines.length, 0);
      if (taken === 0) break;
      const after = await this.#merge(prefix, before ?? '', fresh, state, { ...options, model });
      if (!(await this.#replace(prefix, state, before, after, fresh))) return { status: 'conflict', lines };
      lines += taken;
      last = after;
      if (!fresh.more) break;
    }
    if (lines === 0) return { status: 'nothing', lines };
    options.emit?.({
      type: 'memory.consolidated',
      path: `${prefix}${CORE_FILE}`,
      charsBefore: first?.length ?? 0,
      charsAfter: last?.length ?? 0,
      durationMs: performance.now() - startedAt,
    });
    return { status: 'consolidated', lines };
  }

  /** The earlier versions of a scope's MEMORY.md, the newest first. */
  async versions(scope: MemoryScope): Promise<readonly MemoryVersion[]> {
    return listVersions(this.#settings.workspace, scopePrefix(scope));
  }

  /**
   * Puts an earlier MEMORY.md back, by default the one before the last change; what it replaces becomes a version itself.
   * Notes that it did not hold are merged anew the next time, so nothing is lost by it.
   *
   * @throws {InvalidInputError} when there is no such version.
   */
  async restore(scope: MemoryScope, versionId?: string): Promise<void> {
    const { workspace, keepVersions } = this.#settings;
    const prefix = scopePrefix(scope);
    await exclusively(workspace, coreLock(prefix), async (check) => {
      const state = await settledState(workspace, prefix);
      const id = versionId ?? (await listVersions(workspace, prefix))[0]?.id;
      const version = id === undefined ? undefined : await readVersion(workspace, prefix, id);
      if (version === undefined) {
        const message =
          id === undefined
            ? `${prefix}${CORE_FILE} has no earlier version`
            : `there is no version ${JSON.stringify(id)} of ${prefix}${CORE_FILE}; versions() names those there are`;
        throw new InvalidInputError('versionId', [{ path: '', message }]);
      }
      const before = await readMemory(workspace, prefix);
      const at = this.#now();
      await replaceMemory(workspace, prefix, state, {
        before,
        after: version.text,
        notes: version.notes,
        at,
        keepVersions,
        check,
      });
    });
  }

  /** When notes of that place were last merged, in milliseconds since 1970. @internal */
  async lastConsolidation(prefix: string): Promise<number | undefined> {
    const { consolidatedAt } = await readState(this.#settings.workspace, prefix);
    return consolidatedAt === undefined ? undefined : Date.parse(consolidatedAt);
  }

  #modelFor({ model }: ConsolidationOptions): Model | null {
    const own = this.#settings.model;
    if (model !== undefined) return model;
    return typeof own === 'function' ? own() : own;
  }

  async #merge(
    prefix: string,
    memory: string,
    { notes }: FreshNotes,
    state: ConsolidationState,
    { model, signal, emit }: ConsolidationOptions & { readonly model: Model | null },
  ): Promise<string> {
    const { maxMemoryTokens, consolidationPrompt: instructions } = this.#settings;
    if (model === null || state.refusals >= MOST_REFUSALS) {
      return mergeNotes(
        memory,
        notes.flatMap((note) => note.lines),
        maxMemoryTokens,
      );
    }
    try {
      const checked = await askModel(
        model,
        {
          system: instructions ?? consolidationInstructions(maxMemoryTokens),
          prompt: consolidationPrompt(memory, notes),
          // An answer that is too long should be seen to be, not be cut off.
          maxOutputTokens: 2 * maxMemoryTokens,
          signal,
          emit,
        },
        (answer) => checkMemory(answer, memory, maxMemoryTokens),
      );
      if ('value' in checked) return checked.value;
      throw new MemoryRefusedError('consolidation', checked.refused);
    } catch (error) {
      const passes = signal?.aborted || (ModelError.isInstance(error) && error.retryable);
      if (!passes) await this.#countRefusal(prefix);
      throw error;
    }
  }

  async #countRefusal(prefix: string): Promise<void> {
    const { workspace } = this.#settings;
    await exclusively(workspace, coreLock(prefix), async () => {
      const state = await settledState(workspace, prefix);
      await writeState(workspace, prefix, { ...state, refusals: state.refusals + 1 });
    });
  }

  #replace(
    prefix: string,
    seen: ConsolidationState,
    before: MemoryText,
    after: string,
    { positions }: FreshNotes,
  ): Promise<boolean> {
    const { workspace, keepVersions } = this.#settings;
    return exclusively(workspace, coreLock(prefix), async (check) => {
      const state = await settledState(workspace, prefix);
      // Another process has merged notes since, even if MEMORY.md is the same.
      if (JSON.stringify(state.notes) !== JSON.stringify(seen.notes)) return false;
      return replaceMemory(workspace, prefix, state, {
        before,
        after,
        notes: positions,
        at: this.#now(),
        keepVersions,
        check,
      });
    });
  }

  #now(): string {
    return new Date(this.#settings.clock.now()).toISOString();
  }
}
