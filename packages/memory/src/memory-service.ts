import {
  type AgentEventBody,
  errorText,
  InvalidInputError,
  type Model,
  parseWith,
  type Redact,
  type Workspace,
  type WorkspaceEntry,
} from '@x/core';
import type * as z from 'zod';
import { bulletsOf, factKey, keyHash } from './bullets.js';
import {
  type ConsolidationOptions,
  type ConsolidationOutcome,
  MemoryConsolidator,
} from './consolidate/consolidator.js';
import { type CoreOptions, hashesOf, replaceCore, withCore } from './consolidate/core-file.js';
import { hashOf, type StoredFact, writeState } from './consolidate/memory-state.js';
import type { MemoryVersion } from './consolidate/versions.js';
import { coreLock, exclusively, noteLock } from './exclusively.js';
import { type FactOutcome, forgetLines, isByPerson, outcomeOf, pick } from './find-facts.js';
import { type FlushOptions, type FlushOutcome, MemoryFlushManager } from './flush/flush-manager.js';
import { plainLine } from './flush/flush-prompt.js';
import { type FreshHits, LazyIndex } from './lazy-index.js';
import { MemoryMaintenanceScheduler } from './maintenance/maintenance-scheduler.js';
import { appendLine, CORE_FILE, dailyFile, memoryFiles, readIfFound } from './memory-files.js';
import type { MemorySearchOptions } from './memory-index.js';
import {
  isCommon,
  type MemoryScope,
  type SessionPlace,
  scopePrefix,
  type WithoutUser,
} from './memory-scope.js';
import { type FactAuthor, type FactSource, renderNoteLine } from './note-line.js';
import {
  type MaintenanceReport,
  type MemoryServiceOptions,
  memoryServiceSchema,
  redactorFor,
} from './settings.js';

/** Whose memory is meant: a scope, or the prefix of its directory in the workspace. */
export type MemoryPlace = MemoryScope | string;

/** A bullet of MEMORY.md. */
export interface MemoryFact {
  readonly id: string;
  readonly text: string;
  readonly author: FactAuthor;
  /** The day that it was said, `2026-01-31`; not known of what people write by hand. */
  readonly saidOn?: string | undefined;
  readonly source?: FactSource | undefined;
}

/**
 * The memory of a workspace as a service: what an agent, a command line and an MCP server do with it. Facts are saved,
 * corrected, forgotten, searched and read; sessions are flushed, notes merged, and all of it is maintained.
 *
 * @example
 * const service = new MemoryService({ workspace, index: './memory_index.db' });
 * await service.save({ userId: 'alice' }, 'Alice prefers PostgreSQL');
 * const { hits } = await service.search({ userId: 'alice' }, 'which database?');
 */
export class MemoryService {
  readonly workspace: Workspace;
  readonly withoutUser: WithoutUser;
  readonly flusher: MemoryFlushManager;
  readonly consolidator: MemoryConsolidator;
  readonly #settings: z.output<typeof memoryServiceSchema>;
  readonly #redact: Redact;
  readonly #scheduler: MemoryMaintenanceScheduler;
  #model: Model | null;
  #emit: ((event: AgentEventBody) => void) | undefined;
  readonly #index: LazyIndex;

  /** @throws {InvalidInputError} for a malformed configuration. */
  constructor(options: MemoryServiceOptions) {
    this.#settings = parseWith(memoryServiceSchema, options, 'MemoryService options');
    const { workspace, store, clock, maintenance, redact, timeZone, withoutUser } = this.#settings;
    const { flush, flushGapMs, maxBatchTokens, maxMemoryTokens, keepVersions, consolidationGapMs } =
      this.#settings;
    this.workspace = workspace;
    this.withoutUser = withoutUser;
    this.#redact = redactorFor(redact);
    this.#index = new LazyIndex(this.#settings.index);
    this.#model = this.#settings.model;
    this.#emit = this.#settings.onEvent;
    const shared = { workspace, clock, timeZone, model: () => this.#model };
    this.flusher = new MemoryFlushManager({ ...shared, flush, flushGapMs, maxBatchTokens, redact });
    this.consolidator = new MemoryConsolidator({ ...shared, maxMemoryTokens, keepVersions });
    this.#scheduler = new MemoryMaintenanceScheduler({
      workspace,
      store,
      withoutUser,
      clock,
      consolidator: this.consolidator,
      flusher: flush === 'never' ? null : this.flusher,
      index: { maintain: async (...parameters) => this.#maintainIndex(...parameters) },
      consolidationGapMs,
      ...(maintenance === false ? {} : maintenance),
      onReport: ({ failures }) => {
        if (failures.length > 0) this.#fail('maintenance', failures.join('; '));
      },
    });
  }

  /** Begins the passes of the maintenance, unless they are switched off. Starting twice does nothing. */
  start(emit?: (event: AgentEventBody) => void, model?: Model | null): void {
    this.#emit = emit ?? this.#emit;
    if (model !== undefined) this.#model = model;
    if (this.#settings.maintenance !== false) this.#scheduler.start();
  }

  /** Remembers a fact, in the day's note and, where there is room, in MEMORY.md. Saving what is known does nothing. */
  async save(
    place: MemoryPlace,
    text: string,
    {
      author = 'model',
      source,
    }: { readonly author?: 'model' | 'rule'; readonly source?: FactSource | undefined } = {},
  ): Promise<FactOutcome> {
    const { workspace } = this;
    const said = plainLine(this.#redact(text));
    const key = factKey(said);
    const options = this.#core(place);
    const { prefix, today: saidOn } = options;
    if (key === '') throw new InvalidInputError('fact', [{ path: 'text', message: 'must say something' }]);
    return withCore(options, async ({ text: core }, change) => {
      if (bulletsOf(core).some((bullet) => bullet.key === key)) return { status: 'known', facts: [said] };
      const note = dailyFile(saidOn);
      const from = `${note.slice('memory/'.length)} ${keyHash(key)}`;
      // First the note: whatever becomes of the rest, it is found there.
      await exclusively(workspace, noteLock(prefix), () =>
        appendLine(workspace, `${prefix}${note}`, renderNoteLine({ text: said, author, saidOn, source })),
      );
      const fact = { id: keyHash(`${saidOn} ${key}`), text: said, author, saidOn, from: [from] };
      const { state } = await change({
        add: [source === undefined ? fact : { ...fact, source: { ...source } }],
      });
      const isInFront = state.facts.some(({ id }) => id === fact.id);
      return { status: 'done', facts: [said], paths: [...(isInFront ? [CORE_FILE] : []), note] };
    });
  }

  /**
   * Puts another fact in the place of one, which stays readable in `memory/retired.md`.
   *
   * @param old the fact, or words that only it has.
   * @param by who asks: what a person wrote, only a person changes.
   */
  async correct(
    place: MemoryPlace,
    old: string,
    text: string,
    {
      by = 'model',
      source,
    }: { readonly by?: 'person' | 'model'; readonly source?: FactSource | undefined } = {},
  ): Promise<FactOutcome> {
    const options = this.#core(place);
    const { prefix, today: saidOn } = options;
    const said = plainLine(this.#redact(text));
    return withCore(options, async ({ text: core, state }, change) => {
      const found = pick(bulletsOf(core), old);
      const [bullet] = found;
      if (bullet === undefined || found.length > 1) return outcomeOf(found);
      const fact = state.facts.find((one) => factKey(one.text) === bullet.key);
      if (fact === undefined && by !== 'person') return { status: 'refused', facts: [bullet.text] };
      const note = `${saidOn}.md ${keyHash(factKey(said))}`;
      const newer: StoredFact = {
        id: keyHash(`${saidOn} ${factKey(said)}`),
        text: said,
        author: 'model',
        saidOn,
        from: [note],
        ...(source === undefined ? {} : { source: { ...source } }),
      };
      await exclusively(options.workspace, noteLock(prefix), () =>
        appendLine(options.workspace, `${prefix}${dailyFile(saidOn)}`, renderNoteLine(newer)),
      );
      if (fact !== undefined) await change({ retire: [{ id: fact.id, by: newer, why: '' }] });
      else {
        await replaceCore(options, state, (before) => before.replace(bullet.text, () => said));
      }
      return { status: 'done', facts: [bullet.text] };
    });
  }

  /**
   * Forgets a fact everywhere: in MEMORY.md, the notes, the archive, what was retired, the versions and the index. It does
   * not come back from a note. What was said stands in the session's log still; `erase` deletes that too.
   *
   * @param query the fact, or words that only it has.
   * @param by who asks: what a person wrote, only a person forgets.
   */
  async forget(
    place: MemoryPlace,
    query: string,
    { by = 'model' }: { readonly by?: 'person' | 'model' } = {},
  ): Promise<FactOutcome> {
    const { workspace } = this;
    const options = this.#core(place);
    const { prefix } = options;
    const outcome = await withCore(options, async ({ text: core, state }): Promise<FactOutcome> => {
      const texts = [core];
      for await (const { path } of memoryFiles(workspace, prefix)) {
        if (path !== `${prefix}${CORE_FILE}`) texts.push((await readIfFound(workspace, path)) ?? '');
      }
      const inCore = pick(bulletsOf(core), query);
      const found = inCore.length > 0 ? inCore : pick(texts.slice(1).flatMap(bulletsOf), query);
      const keys = new Set(found.map(({ key }) => key));
      if (keys.size !== 1) return outcomeOf(found);
      const [bullet] = found as [(typeof found)[number]];
      const fact = state.facts.find((one) => factKey(one.text) === bullet.key);
      const isHandwritten =
        fact === undefined && (inCore.length > 0 || (await isByPerson(workspace, prefix, bullet.key)));
      if (isHandwritten && by !== 'person') return { status: 'refused', facts: [bullet.text] };
      const hashes = new Set([keyHash(bullet.key), ...Object.keys(hashesOf(fact ? [fact] : [], ''))]);
      await forgetLines(options, hashes);
      const facts = state.facts.filter((one) => one.id !== fact?.id);
      const gone = Object.fromEntries([...hashes].map((hash) => [hash, options.today]));
      const notes = { ...state.notes };
      for (const [name, position] of Object.entries(notes)) {
        const bytes = await readIfFound(workspace, `${prefix}memory/${name}`);
        // The note is shorter now: what was merged of it is merged still.
        if (bytes === undefined || position.bytes === 0) continue;
        const length = Math.min(position.bytes, Buffer.byteLength(bytes));
        notes[name] = { bytes: length, hash: hashOf(Buffer.from(bytes).subarray(0, length)) };
      }
      await writeState(workspace, prefix, { ...state, facts, notes, gone: { ...state.gone, ...gone } });
      return { status: 'done', facts: [bullet.text] };
    });
    if (outcome.status === 'done') {
      const index = await this.#index.open();
      if (!index.readOnly) {
        await index.indexAllFromWorkspace(workspace, { prefix });
        await index.purge();
      }
    }
    return outcome;
  }

  /** The bullets of MEMORY.md, with who wrote them, when they were said, and where. */
  async facts(place: MemoryPlace): Promise<readonly MemoryFact[]> {
    return withCore(this.#core(place), async ({ text, state }) => {
      const known = new Map(state.facts.map((fact) => [factKey(fact.text), fact]));
      return bulletsOf(text).map(({ text: said, key }): MemoryFact => {
        const { id, author, saidOn, source } = known.get(key) ?? { id: keyHash(key), author: 'person' };
        return { id, text: said, author, ...(saidOn === undefined ? {} : { saidOn, source }) };
      });
    });
  }

  /** The best lines of MEMORY.md and the notes. */
  async search(
    place: MemoryPlace,
    query: string,
    options: Pick<MemorySearchOptions, 'limit' | 'offset' | 'since' | 'until' | 'snippetChars'> = {},
  ): Promise<FreshHits> {
    return this.#index.search(this.workspace, { prefix: this.prefixOf(place) }, query, options);
  }

  /** The text of MEMORY.md; empty where there is none. */
  async read(place: MemoryPlace): Promise<string> {
    return (await readIfFound(this.workspace, `${this.prefixOf(place)}${CORE_FILE}`)) ?? '';
  }

  /** MEMORY.md, the notes and what else can be read and searched, with paths below the place. */
  async files(place: MemoryPlace): Promise<readonly WorkspaceEntry[]> {
    const prefix = this.prefixOf(place);
    const files: WorkspaceEntry[] = [];
    for await (const entry of memoryFiles(this.workspace, prefix)) {
      files.push({ ...entry, path: entry.path.slice(prefix.length) });
    }
    return files;
  }

  /** Writes what is worth remembering of a session to the day's note. */
  async flush(place: SessionPlace, options: FlushOptions = {}): Promise<FlushOutcome> {
    this.prefixOf(place.prefix);
    const outcome = await this.flusher.flushPlace(place, options);
    const index = await this.#index.opened;
    if (index !== undefined && !index.readOnly && outcome.paths.length > 0) {
      await index.update(this.workspace, { prefix: place.prefix });
    }
    return outcome;
  }

  /**
   * Merges new notes into MEMORY.md, unless that was done or tried a short while ago; then `undefined`.
   *
   * @throws what the model and the workspace throw.
   */
  async consolidate(
    place: MemoryPlace,
    { now = false, ...options }: ConsolidationOptions & { readonly now?: boolean } = {},
  ): Promise<ConsolidationOutcome | undefined> {
    if (!this.#settings.consolidate && !now) return undefined;
    if (now) return this.consolidator.consolidateBelow(this.prefixOf(place), options);
    return this.#scheduler.requestConsolidationBelow(this.prefixOf(place), options);
  }

  /** The same in the background, for callers without an agent: failures go to `onEvent`. */
  requestConsolidation(place: MemoryPlace): void {
    void this.consolidate(place, { emit: (event) => this.#emit?.(event) }).catch((error: unknown) =>
      this.#fail('consolidation', errorText(error)),
    );
  }

  /** The earlier versions of MEMORY.md, the newest first. */
  async versions(scope: MemoryScope): Promise<readonly MemoryVersion[]> {
    this.prefixOf(scope);
    return this.consolidator.versions(scope);
  }

  /** Puts an earlier MEMORY.md back, by default the one before the last change. */
  async restore(scope: MemoryScope, versionId?: string): Promise<void> {
    this.prefixOf(scope);
    return this.consolidator.restore(scope, versionId);
  }

  /** One pass of the maintenance over the whole workspace, now. */
  maintain(): Promise<MaintenanceReport> {
    return this.#scheduler.run();
  }

  /**
   * Deletes all that a workspace and the index hold of a tenant or user: memory, notes, versions, logs, and the files of
   * their agents. It cannot be undone.
   *
   * @returns How many files of the workspace and of the index are gone.
   * @throws {InvalidInputError} for a scope without user and tenant: that would be everybody.
   */
  async erase(scope: MemoryScope): Promise<{ readonly files: number; readonly indexed: number }> {
    const { workspace } = this;
    const prefix = scopePrefix(scope);
    if (scope.userId === undefined && scope.tenantId === undefined) {
      throw new InvalidInputError('scope', [{ path: 'userId', message: 'must name whose memory to erase' }]);
    }
    let files = 0;
    await exclusively(workspace, coreLock(prefix), async () => {
      for await (const { type } of workspace.list(prefix, { recursive: true })) if (type === 'file') files++;
      await workspace.delete(prefix.slice(0, -1));
    });
    return { files, indexed: await this.#index.forget(prefix) };
  }

  /** Waits for what is under way, and closes the index that it has opened. */
  async close(): Promise<void> {
    await this.#scheduler.close();
    await this.#index.close();
  }

  /**
   * @internal Answers where a memory lies.
   * @throws {InvalidInputError} for one without a user, unless those share.
   */
  prefixOf(place: MemoryPlace): string {
    const prefix = typeof place === 'string' ? place : scopePrefix(place);
    if (isCommon(prefix, this.withoutUser)) return prefix;
    const message =
      "must be given: without a user nothing is remembered. withoutUser: 'shared' keeps one memory for all";
    throw new InvalidInputError('scope', [{ path: 'userId', message }]);
  }

  #core(place: MemoryPlace): CoreOptions {
    return this.consolidator.coreOptions(this.prefixOf(place));
  }

  async #maintainIndex(workspace: Workspace, prefixes: readonly string[]): Promise<void> {
    const index = await this.#index.open();
    if (!index.readOnly) await index.maintain(workspace, prefixes);
  }

  #fail(operation: 'flush' | 'consolidation' | 'maintenance', error: string): void {
    this.#emit?.({ type: 'memory.failed', operation, error });
  }
}
