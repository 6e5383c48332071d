import { InvalidInputError, type Model } from '@x/core';
import { type AskOptions, askModel, MOST_REFUSALS, tokensFor } from '../ask-model.js';
import { CORE_FILE } from '../memory-files.js';
import { factKey, keyHash } from '../notes.js';
import type { MemoryServiceSettings } from '../settings.js';
import { type Core, coreOptions, hashesOf, type Retired, replaceCore, withCore } from './core-file.js';
import { CONSOLIDATION_INSTRUCTIONS, consolidationPrompt, type Edit, factOf, parseEdits } from './edits.js';
import { newestVersion, readVersion, type StoredFact, writeState } from './memory-state.js';
import { type FreshNotes, freshNotes } from './new-notes.js';

/** Estimated tokens of notes that are merged at once; more are merged in several rounds. */
const MAX_NOTES_TOKENS = 20_000;
/** Tokens that an answer may take. */
const ANSWER_TOKENS = 8_000;

/** What came of a consolidation. */
export interface ConsolidationOutcome {
  /**
   * `nothing`: all notes had been merged already. `conflict`: another process merged the same notes meanwhile, and what it
   * made of them stands, or they are gone.
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
export async function consolidateNotes(
  settings: MemoryServiceSettings,
  prefix: string,
  options: AskOptions = {},
): Promise<ConsolidationOutcome> {
  const { workspace } = settings;
  const { model = settings.model } = options;
  const maxTokens = tokensFor(model, MAX_NOTES_TOKENS);
  const startedAt = performance.now();
  let [lines, charsBefore, charsAfter] = [0, 0, 0];
  for (let round = 0; ; round++) {
    const seen = await withCore(coreOptions(settings, prefix), async (core) => core);
    if (round === 0) charsBefore = seen.text.length;
    charsAfter = seen.text.length;
    const fresh = await freshNotes(workspace, prefix, seen, maxTokens);
    if (fresh.read === 0 && fresh.withdrawn.length === 0) break;
    // Without a model that can be used, the notes are copied as they are.
    let edits: readonly Edit[] = fresh.lines.map((line) => ({ notes: [line], text: line.text }));
    if (model !== null && seen.state.refusals < MOST_REFUSALS && fresh.lines.length > 0)
      edits = await askForEdits(settings, prefix, seen, fresh, { ...options, model });
    const after = await commitEdits(settings, prefix, seen, fresh, edits);
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

/** Puts an earlier MEMORY.md back. Notes that it did not hold are merged anew the next time, archived ones too. */
export async function restoreCore(
  settings: MemoryServiceSettings,
  prefix: string,
  versionId?: string,
): Promise<void> {
  const { workspace } = settings;
  const options = coreOptions(settings, prefix);
  await withCore(options, async ({ state }) => {
    const version = await (versionId === undefined
      ? newestVersion(workspace, prefix)
      : readVersion(workspace, prefix, versionId));
    if (version === undefined) {
      const named = `there is no version ${JSON.stringify(versionId)} of ${prefix}${CORE_FILE}; versions() names those there are`;
      const message =
        versionId === undefined ? `${prefix}${CORE_FILE} has no earlier version that is whole` : named;
      throw new InvalidInputError('versionId', [{ path: '', message }]);
    }
    const { text, facts, seen } = version;
    // What was forgotten since stays so: nothing is heard again but what the version says.
    const back = hashesOf(facts, '');
    const gone = Object.fromEntries(Object.entries(state.gone).filter(([hash]) => !(hash in back)));
    await replaceCore(options, state, () => text);
    const lost = state.lost.filter((fact) => !(keyHash(factKey(fact.text)) in back));
    await writeState(workspace, prefix, { ...state, facts, lost, seen, gone, rereads: true });
  });
}

async function askForEdits(
  settings: MemoryServiceSettings,
  prefix: string,
  core: Core,
  { lines }: FreshNotes,
  { model, signal, emit }: AskOptions & { readonly model: Model },
): Promise<readonly Edit[]> {
  const options = coreOptions(settings, prefix);
  const question = {
    operation: 'consolidation',
    system: CONSOLIDATION_INSTRUCTIONS,
    prompt: consolidationPrompt(core, lines),
    maxOutputTokens: ANSWER_TOKENS,
    signal,
    emit,
    countRefusal: () =>
      withCore(options, ({ state }) =>
        writeState(options.workspace, prefix, { ...state, refusals: state.refusals + 1 }),
      ),
  } as const;
  return askModel(model, question, (answer) => parseEdits(answer, core.state.facts, lines));
}

/** Makes edits to the file as it is now; `undefined` when another process has merged notes since. */
function commitEdits(
  settings: MemoryServiceSettings,
  prefix: string,
  seen: Core,
  fresh: FreshNotes,
  edits: readonly Edit[],
): Promise<Core | undefined> {
  return withCore(coreOptions(settings, prefix), async (core, change) => {
    const { state } = core;
    if (JSON.stringify(state.seen) !== JSON.stringify(seen.state.seen)) return undefined;
    // What was erased meanwhile is not merged.
    const left = new Set((await freshNotes(settings.workspace, prefix, core, Infinity)).seen);
    if (!fresh.lines.every(({ from }) => left.has(from))) return undefined;
    const isThere = new Set(state.facts.map((fact) => factKey(fact.text)));
    const add: StoredFact[] = [];
    const retire = new Map<string, Retired>();
    for (const key of fresh.withdrawn) retire.set(key, { key, why: 'the note was changed' });
    for (const edit of edits) {
      const by = edit.text === undefined ? undefined : factOf(edit);
      const key = edit.fact && factKey(edit.fact.text);
      if (key !== undefined) retire.set(key, { key, by, why: edit.notes.map(({ text }) => text).join('; ') });
      else if (by !== undefined) add.push(by);
    }
    return change({
      add,
      retire: [...retire.values()].filter(({ key }) => isThere.has(key)),
      notes: fresh,
    });
  });
}
