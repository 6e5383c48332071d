import { estimateCounter } from '@x/core';
import { type AskOptions, askModel, tokensFor } from '../ask-model.js';
import { type Core, coreOptions, type Retired, withCore } from '../facts/core-file.js';
import { type StoredFact, writeState } from '../facts/memory-state.js';
import { CORE_FILE } from '../memory-files.js';
import { factKey } from '../notes.js';
import type { MemoryServiceSettings } from '../settings.js';
import { CONSOLIDATION_INSTRUCTIONS, consolidationPrompt, type Edit, factOf, parseEdits } from './edits.js';
import { type FreshNotes, freshNotes } from './new-notes.js';

/** Estimated tokens of notes that are merged in one round. */
const MAX_NOTES_TOKENS = 20_000;

/** The result of a consolidation. */
export interface ConsolidationOutcome {
  /**
   * `nothing`: all notes were merged already. `conflict`: another process merged or erased the same notes meanwhile. `skipped`:
   * consolidation is off, or the last attempt was less than `consolidationGapMs` ago.
   */
  readonly status: 'consolidated' | 'nothing' | 'conflict' | 'skipped';
  /** Lines of notes that were merged. */
  readonly lines: number;
}

/**
 * Merges the daily notes into `MEMORY.md`. A model answers with edits: facts to add, replace and retire, each with the notes that justify
 * it. The edits are checked and applied to the current file, so that concurrent changes of a person are kept. Only people change lines that
 * a person wrote.
 *
 * Merged lines are recognized by content, so lines that are added late are merged too. Does nothing if the last attempt was less than
 * `gapMs` ago.
 */
export async function consolidateNotes(
  settings: MemoryServiceSettings,
  prefix: string,
  { gapMs = 0, ...options }: AskOptions & { readonly gapMs?: number } = {},
): Promise<ConsolidationOutcome> {
  const { workspace } = settings;
  const { model = settings.model } = options;
  const startedAt = performance.now();
  let lines = 0;
  for (let isFirst = true; ; isFirst = false) {
    const scope = coreOptions(settings, prefix);
    const begun = await withCore(scope, async (core) => {
      const age = scope.now - Date.parse(core.state.consolidatedAt ?? '');
      // A clock that was once ahead must not block merges.
      if (isFirst && age >= 0 && age < gapMs) return undefined;
      // Each request also contains all of MEMORY.md. Even if MEMORY.md nearly fills the window, a round gets at least 1/12 of it, because
      // smaller rounds would send MEMORY.md many more times.
      const maxTokens = Math.max(
        tokensFor(model, MAX_NOTES_TOKENS, 1 / 3, estimateCounter.count(core.text)),
        tokensFor(model, MAX_NOTES_TOKENS, 1 / 12),
      );
      const notes = await freshNotes(workspace, prefix, core, maxTokens);
      const state = { ...core.state, consolidatedAt: new Date(scope.now).toISOString() };
      // Saved before the model is called, so that no process repeats a failure at once.
      if (isFirst && notes.read > 0) await writeState(workspace, prefix, state);
      return { seen: { ...core, state }, fresh: notes };
    });
    if (begun === undefined) return { status: 'skipped', lines };
    const { seen, fresh } = begun;
    if (fresh.read === 0) break;
    // Without a model, notes are copied unchanged.
    let edits: readonly Edit[] = fresh.lines.map((line) => ({ notes: [line], text: line.text }));
    if (model !== null && fresh.lines.length > 0) {
      const question = {
        ...options,
        operation: 'consolidation',
        about: 'new notes (a search still finds them)',
        system: CONSOLIDATION_INSTRUCTIONS,
        prompt: consolidationPrompt(seen, fresh.lines),
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

/** Applies edits to the current file. Returns `undefined` if another process merged or erased notes meanwhile. */
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
    const known = new Set(state.facts.map((fact) => factKey(fact.text)));
    const add: StoredFact[] = [];
    const retire: Retired[] = [];
    for (const edit of edits) {
      const by = edit.text === undefined ? undefined : factOf(edit);
      const key = edit.fact && factKey(edit.fact.text);
      if (key === undefined && by !== undefined) add.push(by);
      if (key !== undefined && known.has(key))
        retire.push({ key, by, why: edit.notes.map(({ text }) => text).join('; ') });
    }
    return change({ add, retire, seen: fresh.seen });
  });
}
