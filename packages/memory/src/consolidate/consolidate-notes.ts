import { type AskOptions, askModel, tokensFor } from '../ask-model.js';
import { type Core, coreOptions, type Retired, withCore } from '../facts/core-file.js';
import { type StoredFact, writeState } from '../facts/memory-state.js';
import { CORE_FILE } from '../memory-files.js';
import { factKey } from '../notes.js';
import type { MemoryServiceSettings } from '../settings.js';
import { CONSOLIDATION_INSTRUCTIONS, consolidationPrompt, type Edit, factOf, parseEdits } from './edits.js';
import { type FreshNotes, freshNotes } from './new-notes.js';

/** Estimated tokens of notes that are merged at once; more are merged in several rounds. */
const MAX_NOTES_TOKENS = 20_000;
/** Tokens that an answer may take. */
const ANSWER_TOKENS = 8_000;

/** What came of a consolidation. */
export interface ConsolidationOutcome {
  /**
   * `nothing`: all notes had been merged already. `conflict`: another process merged or erased the same notes meanwhile.
   * `skipped`: it was done or tried a short while ago, or is switched off.
   */
  readonly status: 'consolidated' | 'nothing' | 'conflict' | 'skipped';
  /** Lines of notes that were merged. */
  readonly lines: number;
}

/**
 * Merges the daily notes into `MEMORY.md`, which is shown to the agent. A model answers with edits: facts to add, to
 * replace and to retire, each with the notes that are its reason. The edits are checked, and applied to the file as it is
 * at that moment, so that nothing is lost that a person writes meanwhile. Lines of a person are changed by people alone.
 *
 * It knows by content how much of each note has been merged, so that a note that is written late is merged, too.
 * If it was done or tried less than `gapMs` ago, it does nothing.
 */
export async function consolidateNotes(
  settings: MemoryServiceSettings,
  prefix: string,
  { gapMs = 0, ...options }: AskOptions & { readonly gapMs?: number } = {},
): Promise<ConsolidationOutcome> {
  const { workspace } = settings;
  const { model = settings.model } = options;
  const maxTokens = tokensFor(model, MAX_NOTES_TOKENS);
  const startedAt = performance.now();
  let lines = 0;
  for (let isFirst = true; ; isFirst = false) {
    const scope = coreOptions(settings, prefix);
    const begun = await withCore(scope, async (core) => {
      const age = scope.now - Date.parse(core.state.consolidatedAt ?? '');
      // A clock that was once ahead must not stop merges until then.
      if (isFirst && age >= 0 && age < gapMs) return undefined;
      const notes = await freshNotes(workspace, prefix, core, maxTokens);
      const state = { ...core.state, consolidatedAt: new Date(scope.now).toISOString() };
      // Before the model is asked, so that no process repeats a failure at once.
      if (isFirst && notes.read > 0) await writeState(workspace, prefix, state);
      return { seen: { ...core, state }, fresh: notes };
    });
    if (begun === undefined) return { status: 'skipped', lines };
    const { seen, fresh } = begun;
    if (fresh.read === 0) break;
    // Without a model, the notes are copied as they are.
    let edits: readonly Edit[] = fresh.lines.map((line) => ({ notes: [line], text: line.text }));
    if (model !== null && fresh.lines.length > 0) {
      const question = {
        ...options,
        operation: 'consolidation',
        about: 'new notes, which a search still finds',
        system: CONSOLIDATION_INSTRUCTIONS,
        prompt: consolidationPrompt(seen, fresh.lines),
        maxOutputTokens: ANSWER_TOKENS,
      } as const;
      const check = (answer: string) => parseEdits(answer, seen.state.facts, fresh.lines);
      edits = (await askModel(model, question, check)) ?? [];
    }
    const after = await commitEdits(settings, prefix, seen, fresh, edits);
    if (after === undefined) return { status: 'conflict', lines };
    lines += fresh.read;
    if (!fresh.more) break;
  }
  if (lines === 0) return { status: 'nothing', lines };
  options.emit?.({
    type: 'memory.consolidated',
    path: `${prefix}${CORE_FILE}`,
    lines,
    durationMs: performance.now() - startedAt,
  });
  return { status: 'consolidated', lines };
}

/** Applies edits to the file as it is now. Returns `undefined` if another process merged or erased notes since. */
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
    const left = new Set((await freshNotes(settings.workspace, prefix, core, Infinity)).seen);
    if (!fresh.lines.every(({ from }) => left.has(from))) return undefined;
    const isThere = new Set(state.facts.map((fact) => factKey(fact.text)));
    const add: StoredFact[] = [];
    const retire: Retired[] = [];
    for (const edit of edits) {
      const by = edit.text === undefined ? undefined : factOf(edit);
      const key = edit.fact && factKey(edit.fact.text);
      if (key === undefined && by !== undefined) add.push(by);
      if (key !== undefined && isThere.has(key))
        retire.push({ key, by, why: edit.notes.map(({ text }) => text).join('; ') });
    }
    return change({ add, retire, seen: fresh.seen });
  });
}
