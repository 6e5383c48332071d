import { InvalidInputError, type SessionKey, storageOf, type Workspace, WorkspaceError } from '@x/core';
import { errorText, headOf, parseWith, UNCONFIRMED } from '@x/core/internal';
import type { AskOptions } from './ask-model.js';
import { type ConsolidationOutcome, consolidateNotes } from './consolidate/consolidate-notes.js';
import { exclusively, memoryLock } from './exclusively.js';
import { type CoreOptions, coreOptions, hashesOf, peekCore, withCore } from './facts/core-file.js';
import {
  type FactOutcome,
  forgetLines,
  notedBullets,
  outcomeOf,
  pick,
  pickNoted,
} from './facts/find-facts.js';
import { type StoredFact, writeState } from './facts/memory-state.js';
import { type StandingHit, standingHits } from './facts/standing-hits.js';
import { type FlushOptions, type FlushOutcome, flushSession } from './flush/flush-session.js';
import { type MaintenanceReport, maintainPlaces, STOPPED } from './maintenance.js';
import { CORE_FILE, dailyFile, isMemoryPath, memoryPrefixes, readEdited } from './memory-files.js';
import { type FreshHits, MemoryIndex, type MemorySearchOptions } from './memory-index.js';
import {
  isCommon,
  type MemoryPlace,
  type MemoryScope,
  placeOfSession,
  type SessionPlace,
  scopePrefix,
  type WithoutUser,
} from './memory-scope.js';
import {
  bulletsOf,
  confirmed,
  type FactSource,
  factKey,
  factKeys,
  hashIn,
  keyHash,
  type MemoryFact,
  plainLine,
  renderNoteLine,
  saidIn,
  statementsOf,
  withoutBullets,
  withoutShownMarks,
} from './notes.js';
import { type MemoryServiceOptions, type MemoryServiceSettings, memoryServiceSchema } from './settings.js';

/** Default maximum number of facts that a search returns. */
const DEFAULT_HITS = 10;
/** Maximum number of matching lines that are deduplicated into facts. */
const MOST_HITS = 1_000;

/**
 * Maximum length of an unconfirmed fact, and of the tool names in its mark. A search returns pieces of long lines, and each piece must show
 * the mark.
 */
const MAX_UNCONFIRMED = 1_000;
const MAX_SOURCES = 200;
/** Minimum time between two maintenance runs of a memory in one process. */
const MAINTAINED_MS = 6 * 3_600_000;

/**
 * The memory of a workspace, for agents, command-line programs and MCP servers. It saves, corrects, forgets, searches and reads
 * facts, flushes sessions, merges notes, and runs maintenance.
 *
 * @example
 * const service = new MemoryService({ workspace, index: './memory_index.db' });
 * await service.save({ userId: 'alice' }, 'The database of Alice is PostgreSQL');
 * const { hits } = await service.search({ userId: 'alice' }, 'which database?');
 */
export class MemoryService {
  /** The workspace passed to the constructor. */
  readonly workspace: Workspace;
  /** The folder with memory and logs: `storageOf(workspace)`. An agent on the same workspace uses the same folder. */
  readonly storage: Workspace;
  readonly withoutUser: WithoutUser;
  readonly #settings: MemoryServiceSettings;
  readonly #index: MemoryIndex;
  readonly #running = new Set<Promise<unknown>>();
  readonly #closing = new AbortController();
  /** When this process last maintained each memory. */
  readonly #maintained = new Map<string, number>();

  /** @throws {InvalidInputError} for unknown or invalid options. */
  constructor(options: MemoryServiceOptions) {
    const given = parseWith(memoryServiceSchema, options, 'MemoryService options');
    const { workspace, withoutUser, index } = given;
    this.workspace = workspace;
    this.storage = storageOf(workspace);
    this.withoutUser = withoutUser;
    this.#index = MemoryIndex.at(index);
    this.#settings = { ...given, workspace: this.storage };
  }

  /**
   * Saves a fact in the day's note and in MEMORY.md. If MEMORY.md is full, its oldest model-written facts are retired. Saving a known fact
   * does nothing.
   *
   * @param strangers Names of the tools whose untrusted results may have suggested the fact. If there are any, the fact is only saved in the
   * note, marked as unconfirmed. It is confirmed when it is saved again without `strangers`.
   * @throws {InvalidInputError} for an empty text, or for an unconfirmed text of more than 1 000 characters.
   */
  async save(
    place: MemoryPlace,
    text: string,
    { source, strangers = [] }: { readonly source?: FactSource; readonly strangers?: readonly string[] } = {},
  ): Promise<FactOutcome> {
    const options = this.#core(place);
    const fact = this.#factOf(options, text, source);
    return withCore(options, async ({ text: core }, change) => {
      if (factKeys(core).has(factKey(fact.text))) return { status: 'known', facts: [fact.text] };
      const note = dailyFile(options.today);
      if (strangers.length > 0) {
        if (fact.text.length > MAX_UNCONFIRMED) {
          const message = `has ${fact.text.length} characters; an unconfirmed fact may have at most ${MAX_UNCONFIRMED}. Shorten it`;
          throw new InvalidInputError('memory', [{ path: 'content', message }]);
        }
        const line = plainLine(`${UNCONFIRMED}${headOf(strangers.join(', '), MAX_SOURCES)}] ${fact.text}`);
        await change({ lines: { [note]: [renderNoteLine({ ...fact, text: line })] } });
        return { status: 'unconfirmed', facts: [fact.text], paths: [note] };
      }
      const { state } = await change({ add: [fact], lines: { [note]: [renderNoteLine(fact)] } });
      const isInFront = state.facts.some(({ id }) => id === fact.id);
      return { status: 'done', facts: [fact.text], paths: [...(isInFront ? [CORE_FILE] : []), note] };
    });
  }

  /**
   * Replaces a fact. The old one can still be read in `memory/retired.md`.
   *
   * @param old the fact, or words that occur in no other fact.
   * @param by who requests the change. A model cannot change a line that a person wrote.
   * @throws {InvalidInputError} for an empty text.
   */
  async correct(
    place: MemoryPlace,
    old: string,
    now: string,
    { by = 'model', source }: { readonly by?: 'person' | 'model'; readonly source?: FactSource } = {},
  ): Promise<FactOutcome> {
    const options = this.#core(place);
    const newer = this.#factOf(options, now, source);
    return withCore(options, async ({ text: core, state }, change) => {
      const inCore = pick(bulletsOf(core), old);
      const noted = await pickNoted(options, state, old);
      // The whole text of a fact in a note is better than words of a longer fact in MEMORY.md.
      const isWhole = [...inCore, ...noted].find(({ key }) => key === factKey(withoutShownMarks(old)));
      const found = isWhole ? [isWhole] : inCore.length > 0 ? inCore : noted;
      const [bullet] = found;
      if (bullet === undefined || found.length > 1) return outcomeOf(found);
      const { key, text } = bullet;
      const isStored = state.facts.some((fact) => factKey(fact.text) === key);
      const isNoted = !isStored && !inCore.some((one) => one.key === key);
      const isTheirs = 'isByPerson' in bullet ? bullet.isByPerson : !isStored;
      if (isTheirs && by !== 'person') return { status: 'refused', facts: [text] };
      const lines = { [dailyFile(options.today)]: [renderNoteLine(newer)] };
      const retire = [{ key, by: newer, noted: { text: confirmed(text) } }];
      await change({ add: isNoted ? [newer] : [], retire, lines });
      return { status: 'done', facts: [text] };
    });
  }

  /**
   * Deletes a fact from MEMORY.md, the notes, the archive, the retired facts and the index. It returns only if a person states it again.
   * The session's log keeps the conversation; `erase` deletes logs too.
   *
   * @param query the fact, or words that occur in no other fact.
   * @param by who requests the change. A model cannot delete a line that a person wrote.
   */
  async forget(
    place: MemoryPlace,
    query: string,
    { by = 'model' }: { readonly by?: 'person' | 'model' } = {},
  ): Promise<FactOutcome> {
    const { storage } = this;
    const options = this.#core(place);
    const { prefix } = options;
    const outcome = await withCore(options, async ({ text: core, state }): Promise<FactOutcome> => {
      const noted = await notedBullets(storage, prefix);
      const known = [...state.facts, ...state.lost];
      const lost = bulletsOf(state.lost.map(({ text }) => `- ${text}`).join('\n'));
      const inCore = factKeys(core);
      const matching = pick([...bulletsOf(core), ...noted, ...lost], query);
      // The note lines that a fact was merged from are deleted too, so they do not make the query ambiguous.
      const keys = new Set(matching.map(({ key }) => key));
      const sources = new Set(
        known.flatMap(({ text, from }) => {
          const key = factKey(text);
          return keys.has(key) ? from.map(hashIn).filter((hash) => hash !== keyHash(key)) : [];
        }),
      );
      const found = matching.filter(({ key }) => inCore.has(key) || !sources.has(keyHash(key)));
      const [bullet] = found;
      if (bullet === undefined || found.length > 1) return outcomeOf(found);
      const { key, text } = bullet;
      const fact = state.facts.find((one) => factKey(one.text) === key);
      // Models write only top-level bullets. The same text elsewhere was written by a person.
      const rest = withoutBullets(core, (one) => one.key === key);
      const put = statementsOf(rest)
        .find(({ whole }) => factKey(saidIn(whole)) === key)
        ?.whole.trim();
      const isNoted = noted.some((line) => line.key === key && line.isByPerson);
      const isTheirs = put !== undefined || (fact === undefined && (inCore.has(key) || isNoted));
      if (isTheirs && by !== 'person') return { status: 'refused', facts: [put ?? text] };
      const said = known.filter((one) => factKey(one.text) === key);
      const hashes = { [keyHash(key)]: options.since, ...hashesOf(said, options.since) };
      const gone = { ...state.gone, ...hashes };
      // Saved before anything is deleted, so that the fact cannot return after a crash.
      await writeState(storage, prefix, { ...state, gone });
      await forgetLines(options, hashes);
      const isLeft = (one: StoredFact) => !said.includes(one);
      const left = { facts: state.facts.filter(isLeft), lost: state.lost.filter(isLeft) };
      await writeState(storage, prefix, { ...state, ...left, gone });
      return { status: 'done', facts: [text] };
    });
    if (outcome.status === 'done' && this.#index.isKept) {
      await this.#index.indexAllFromWorkspace(storage, { prefix });
      await this.#index.purge();
    }
    return outcome;
  }

  /** Returns the bullets of MEMORY.md, with author, day and source. */
  async facts(place: MemoryPlace): Promise<readonly MemoryFact[]> {
    const { text, state } = await peekCore(this.#core(place));
    const known = new Map(state.facts.map((fact) => [factKey(fact.text), fact]));
    return bulletsOf(text).map(({ text: said, key }): MemoryFact => {
      const { id, author, saidOn, source } = known.get(key) ?? { id: keyHash(key), author: 'person' };
      return { id, text: said, author, ...(saidOn === undefined ? {} : { saidOn, source }) };
    });
  }

  /**
   * Searches MEMORY.md and the notes, and returns the best facts without duplicates. A retired fact is marked, and follows the fact that
   * replaced it.
   *
   * @throws {InvalidInputError} for unknown or invalid options.
   */
  async search(
    place: MemoryPlace,
    query: string,
    options: Pick<MemorySearchOptions, 'limit' | 'offset' | 'since' | 'until'> = {},
  ): Promise<FreshHits<StandingHit>> {
    const { limit = DEFAULT_HITS, offset = 0 } = options;
    const core = this.#core(place);
    const { prefix } = core;
    // A fact may be in MEMORY.md, in two notes and in retired.md.
    const most = Math.min(MOST_HITS, 4 * (offset + limit));
    const { hits, stale } = await this.#index.searchFresh(this.storage, { prefix }, query, {
      ...options,
      offset: 0,
      limit: limit === 0 ? 0 : most,
    });
    const standing = await standingHits(this.storage, prefix, hits, await peekCore(core));
    return { hits: standing.slice(offset, offset + limit), stale };
  }

  /** Reads MEMORY.md or another memory file. Returns an empty text if the file does not exist. */
  async read(place: MemoryPlace, path = CORE_FILE): Promise<string> {
    const text = isMemoryPath(path) ? readEdited(this.storage, `${this.prefixOf(place)}${path}`) : undefined;
    return (await text) ?? '';
  }

  /**
   * Reads the messages of a session since its last flush, and writes new facts to the day's note, `memory/YYYY-MM-DD.md`. Several processes
   * may flush one session. Without a model it does nothing.
   *
   * @throws errors of the model and of the workspace.
   */
  async flush(session: SessionKey | SessionPlace, options: FlushOptions = {}): Promise<FlushOutcome> {
    const place = 'parts' in session ? placeOfSession(session) : session;
    this.prefixOf(place.prefix);
    return flushSession(this.#settings, place, options);
  }

  /**
   * Merges new notes into MEMORY.md. Does nothing if the last attempt was less than `consolidationGapMs` ago, unless `now` is set.
   *
   * @throws errors of the model and of the workspace.
   */
  async consolidate(
    place: MemoryPlace,
    { now = false, ...options }: AskOptions & { readonly now?: boolean } = {},
  ): Promise<ConsolidationOutcome> {
    const prefix = this.prefixOf(place);
    const { consolidate, consolidationGapMs } = this.#settings;
    if (!now && (!consolidate || this.#closing.signal.aborted)) return { status: 'skipped', lines: 0 };
    const gapMs = now ? 0 : consolidationGapMs;
    return this.#track(consolidateNotes(this.#settings, prefix, { ...options, gapMs }));
  }

  /**
   * Maintains a memory, or all memories of the workspace, now: flushes sessions whose process died, merges notes, and deletes old logs.
   * Without a place, it also purges deleted text from the index. If one memory fails, the failure is reported and the others are
   * maintained.
   */
  async maintain(place?: MemoryPlace, { emit }: Pick<AskOptions, 'emit'> = {}): Promise<MaintenanceReport> {
    const { storage } = this;
    const { signal } = this.#closing;
    const places = place === undefined ? memoryPrefixes(storage) : [this.prefixOf(place)];
    const report = await this.#track(maintainPlaces(this.#settings, places, { signal, emit }));
    if (place !== undefined) return report;
    const failures = [...report.failures];
    await this.#index.maintain(storage).catch((error: unknown) => failures.push(errorText(error)));
    return { ...report, failures };
  }

  /** Maintains a memory, unless maintenance is off or ran less than six hours ago in this process. Returns what failed. @internal */
  async maintainIfDue(prefix: string, emit?: AskOptions['emit']): Promise<string> {
    const { clock, maintenance, consolidationGapMs: gapMs } = this.#settings;
    const age = Math.abs(clock.now() - (this.#maintained.get(prefix) ?? Number.NEGATIVE_INFINITY));
    if (!maintenance || !isCommon(prefix, this.withoutUser) || age < MAINTAINED_MS) return '';
    this.#maintained.set(prefix, clock.now());
    const options = { signal: this.#closing.signal, emit, gapMs };
    const report = this.#track(maintainPlaces(this.#settings, [prefix], options));
    const { failures } = await report.catch((error) => ({ failures: [errorText(error)] }));
    // `close` stops automatic work, which is not a failure: the next process does it.
    return failures.filter((failure) => failure !== STOPPED).join('; ');
  }

  /**
   * Deletes all data of a tenant or user from the workspace and the index: memory, notes, logs, and the files of their agents. This cannot
   * be undone.
   *
   * @returns the number of files deleted from the workspace and from the index.
   * @throws {InvalidInputError} for a scope without user and tenant.
   */
  async erase(scope: MemoryScope): Promise<{ readonly files: number; readonly indexed: number }> {
    const { storage } = this;
    const prefix = scopePrefix(scope);
    if (scope.userId === undefined && scope.tenantId === undefined)
      throw new InvalidInputError('scope', [
        { path: 'userId', message: 'or tenantId must be set. An empty scope would erase all users' },
      ]);
    const remove = async () => {
      let files = 0;
      for await (const { type } of storage.list(prefix, { recursive: true })) if (type === 'file') files++;
      await storage.delete(prefix.slice(0, -1));
      return files;
    };
    // A lock needs space. If the storage is full, delete without the lock.
    const files = await exclusively(storage, memoryLock(prefix), remove).catch((error: unknown) => {
      if (WorkspaceError.isInstance(error) && error.code === 'workspace_io') return remove();
      throw error;
    });
    return { files, indexed: await this.#index.forget(prefix) };
  }

  /** Waits for running work, and closes the index if this service opened it. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.allSettled(this.#running);
    if (this.#index !== this.#settings.index) this.#index.close();
  }

  /**
   * @internal Returns the directory of a memory.
   * @throws {InvalidInputError} for a scope without a user, unless `withoutUser` is `shared`.
   */
  prefixOf(place: MemoryPlace): string {
    const prefix = scopePrefix(place);
    if (isCommon(prefix, this.withoutUser)) return prefix;
    const message =
      "must be given, because calls without a user have no memory. Set withoutUser: 'shared' to keep one memory for all of them";
    throw new InvalidInputError('scope', [{ path: 'userId', message }]);
  }

  /** Makes `close` wait for the work. */
  #track<T>(work: Promise<T>): Promise<T> {
    this.#running.add(work);
    return work.finally(() => this.#running.delete(work));
  }

  #core(place: MemoryPlace): CoreOptions {
    return coreOptions(this.#settings, this.prefixOf(place));
  }

  /** @throws {InvalidInputError} for an empty text. */
  #factOf({ today: saidOn }: CoreOptions, said: string, source: FactSource | undefined): StoredFact {
    const text = withoutShownMarks(plainLine(this.#settings.redact(said)));
    const key = factKey(text);
    if (key === '') throw new InvalidInputError('fact', [{ path: 'text', message: 'must not be empty' }]);
    const from = [`${saidOn}.md ${keyHash(key)}`];
    const id = keyHash(`${saidOn} ${key}`);
    return { id, text, author: 'model', saidOn, source: source && { ...source }, from };
  }
}
