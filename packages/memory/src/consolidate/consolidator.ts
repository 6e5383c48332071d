import { type AgentEventBody, InvalidInputError, type Model, ModelError, parseWith } from '@x/core';
import { askModel } from '../ask-model.js';
import { MemoryRefusedError } from '../errors.js';
import { dayIn } from '../index/dates.js';
import { CORE_FILE } from '../memory-files.js';
import { type MemoryScope, scopePrefix } from '../memory-scope.js';
import {
  type ConsolidationSettings,
  consolidatorSchema,
  type MemoryConsolidatorOptions,
} from '../settings.js';
import { type Core, type CoreOptions, replaceCore, withCore } from './core-file.js';
import { CONSOLIDATION_INSTRUCTIONS, consolidationPrompt, type Edit, factOf, parseEdits } from './edits.js';
import { hashOf, readState, writeState } from './memory-state.js';
import { type FreshNotes, freshNotes } from './new-notes.js';
import { ruleEdits } from './rule-edits.js';
import { listVersions, type MemoryVersion, readVersion } from './versions.js';

/** After so many answers in a row that were refused, notes are merged by rule: a consolidation always gets on. */
const MOST_REFUSALS = 3;
/** Estimated tokens of notes that are merged at once; more are merged in several rounds. */
const MAX_NOTES_TOKENS = 20_000;
/** Tokens that an answer may take. */
const ANSWER_TOKENS = 8_000;

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
   * `nothing`: all notes had been merged already. `conflict`: another process merged the same notes meanwhile; what it
   * made of them stands.
   */
  readonly status: 'consolidated' | 'nothing' | 'conflict';
  /** Lines of notes that were merged. */
  readonly lines: number;
}

/**
 * Merges the daily notes into `MEMORY.md`, the memory that stands in front of the agent. A model, or a rule, gives edits:
 * facts to add, to replace and to retire, each with the notes that are its reason. They are checked and made to the file
 * as it is at that moment, so that whoever writes into it meanwhile loses nothing; a line that a person wrote is changed
 * by people alone. Retired facts stay readable in `memory/retired.md`.
 *
 * It knows of each note how much of it has been merged, by content, so that a note that is written late is not missed; this
 * and MEMORY.md change together, also when the process dies in between.
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
    const { workspace } = this.#settings;
    const model = this.#modelFor(options);
    const maxTokens = Math.min(MAX_NOTES_TOKENS, Math.ceil((model?.contextWindow ?? Infinity) / 3));
    const startedAt = performance.now();
    let [lines, charsBefore, charsAfter] = [0, 0, 0];
    for (let round = 0; ; round++) {
      const seen = await withCore(this.coreOptions(prefix), async (core) => core);
      if (round === 0) charsBefore = seen.text.length;
      charsAfter = seen.text.length;
      const fresh = await freshNotes(workspace, prefix, seen, maxTokens);
      if (fresh.read === 0 && fresh.withdrawn.length === 0) break;
      const byRule = model === null || seen.state.refusals >= MOST_REFUSALS;
      let edits: readonly Edit[] = [];
      if (byRule) edits = ruleEdits(seen.state.facts, fresh.lines);
      else if (fresh.lines.length > 0) edits = await this.#ask(prefix, seen, fresh, { ...options, model });
      const after = await this.#commit(prefix, seen, fresh, edits, byRule ? 'rule' : 'model');
      if (after === undefined) return { status: 'conflict', lines };
      lines += fresh.read;
      charsAfter = after.text.length;
      if (!fresh.more) break;
    }
    if (lines === 0) return { status: 'nothing', lines };
    options.emit?.({
      type: 'memory.consolidated',
      path: `${prefix}${CORE_FILE}`,
      charsBefore,
      charsAfter,
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
   * Notes that it did not hold are merged anew the next time, also those that were archived since, so nothing is lost by
   * it.
   *
   * @throws {InvalidInputError} when there is no such version.
   */
  async restore(scope: MemoryScope, versionId?: string): Promise<void> {
    const { workspace } = this.#settings;
    const prefix = scopePrefix(scope);
    const options = this.coreOptions(prefix);
    await withCore(options, async ({ state }) => {
      const id = versionId ?? (await listVersions(workspace, prefix))[0]?.id;
      const version = id === undefined ? undefined : await readVersion(workspace, prefix, id);
      if (version === undefined) {
        const message =
          id === undefined
            ? `${prefix}${CORE_FILE} has no earlier version`
            : `there is no version ${JSON.stringify(id)} of ${prefix}${CORE_FILE}; versions() names those there are`;
        throw new InvalidInputError('versionId', [{ path: '', message }]);
      }
      await replaceCore(options, state, () => version.text);
      const unread = { bytes: 0, hash: hashOf('') };
      const notes = Object.fromEntries(
        Object.keys(state.notes).map((name) => [name, version.notes[name] ?? unread]),
      );
      // What was retired since the version holds again, or is said again by a note.
      await writeState(workspace, prefix, { ...state, notes, facts: [...version.facts], gone: {} });
    });
  }

  /** The model that merges, or a function that gives it. @internal */
  get model(): ConsolidationSettings['model'] {
    return this.#settings.model;
  }

  /** When notes of that place were last merged, in milliseconds since 1970. @internal */
  async lastConsolidation(prefix: string): Promise<number | undefined> {
    const { consolidatedAt } = await readState(this.#settings.workspace, prefix);
    return consolidatedAt === undefined ? undefined : Date.parse(consolidatedAt);
  }

  /** What a change of the MEMORY.md at a place needs. @internal */
  coreOptions(prefix: string): CoreOptions {
    const { workspace, maxMemoryTokens, keepVersions, clock, timeZone } = this.#settings;
    const now = clock.now();
    return { workspace, prefix, maxTokens: maxMemoryTokens, keepVersions, now, today: dayIn(now, timeZone) };
  }

  #modelFor({ model }: ConsolidationOptions): Model | null {
    const own = this.#settings.model;
    if (model !== undefined) return model;
    return typeof own === 'function' ? own() : own;
  }

  async #ask(
    prefix: string,
    core: Core,
    { lines }: FreshNotes,
    { model, signal, emit }: ConsolidationOptions & { readonly model: Model },
  ): Promise<readonly Edit[]> {
    const { facts } = core.state;
    try {
      const checked = await askModel(
        model,
        {
          system: CONSOLIDATION_INSTRUCTIONS,
          prompt: consolidationPrompt(core, lines),
          maxOutputTokens: ANSWER_TOKENS,
          signal,
          emit,
        },
        (answer) => parseEdits(answer, facts, lines),
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
    await withCore(this.coreOptions(prefix), async ({ state }) => {
      await writeState(this.#settings.workspace, prefix, { ...state, refusals: state.refusals + 1 });
    });
  }

  /** Makes edits to the file as it is now; `undefined` when another process has merged notes since. */
  #commit(
    prefix: string,
    seen: Core,
    fresh: FreshNotes,
    edits: readonly Edit[],
    author: 'model' | 'rule',
  ): Promise<Core | undefined> {
    return withCore(this.coreOptions(prefix), async ({ state }, change) => {
      if (JSON.stringify(state.notes) !== JSON.stringify(seen.state.notes)) return undefined;
      const made = edits.map((edit) => ({
        edit,
        by: edit.text === undefined ? undefined : factOf(edit, author),
      }));
      const isThere = new Set(state.facts.map(({ id }) => id));
      const retire = made.flatMap(({ edit, by }) =>
        edit.fact === undefined
          ? []
          : [{ id: edit.fact.id, by, why: edit.notes.map(({ text }) => text).join('; ') }],
      );
      const withdrawn = fresh.withdrawn.filter((id) => !retire.some((one) => one.id === id));
      return change({
        add: made.flatMap(({ edit, by }) => (by !== undefined && edit.fact === undefined ? [by] : [])),
        retire: [
          ...retire.filter(({ id }) => isThere.has(id)),
          ...withdrawn.map((id) => ({ id, why: 'the note was changed' })),
        ],
        notes: fresh.positions,
      });
    });
  }
}
