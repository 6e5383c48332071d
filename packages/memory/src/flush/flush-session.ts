import type { Message, Model, Workspace } from '@x/core';
import { type AskOptions, askModel, MOST_REFUSALS, tokensFor } from '../ask-model.js';
import { type Core, coreOptions, withCore } from '../facts/core-file.js';
import { type FlushProgress, readProgress } from '../facts/memory-state.js';
import { dayIn } from '../index/dates.js';
import { CORE_FILE, dailyFile, readIfFound } from '../memory-files.js';
import type { SessionPlace } from '../memory-scope.js';
import { factKey, factKeys, keyHash, type NoteLine, plainLine, renderNoteLine } from '../notes.js';
import { type MemoryServiceSettings, redactorFor } from '../settings.js';
import { FLUSH_INSTRUCTIONS, flushPrompt, parseBullets, type Statement } from './flush-prompt.js';
import { type Batch, nextBatch } from './log-batches.js';

/** Tokens that an answer may take. */
const ANSWER_TOKENS = 4_000;

/** Options of one flush. */
export interface FlushOptions extends AskOptions {
  /** Why: after a turn, before a compaction, or asked for by hand. Default `manual`. */
  readonly reason?: 'turn' | 'compaction' | 'manual' | undefined;
}

/** What came of a flush. */
export interface FlushOutcome {
  /** `throttled` and `never`: skipped by configuration. `no_model`: skipped, because nothing can read the conversation. */
  readonly status: 'flushed' | 'throttled' | 'never' | 'no_model';
  /** Messages that were read. */
  readonly messages: number;
  /** What was written, without signs. */
  readonly bullets: readonly string[];
  /** The notes that were written to, as paths in the workspace. */
  readonly paths: readonly string[];
}

/**
 * Appends what is worth remembering of a session to the note of the day, `memory/YYYY-MM-DD.md`. It reads the session's log
 * from where it last stopped, so that a flush costs what was said since, and a compaction takes nothing away from it.
 *
 * The lines of the note and the progress of the session are one change of the memory: a crash at any point loses no line and
 * doubles none. Several processes may flush one session, and write to one note.
 */
export async function flushSession(
  settings: MemoryServiceSettings,
  place: SessionPlace,
  options: FlushOptions = {},
): Promise<FlushOutcome> {
  const { flush, flushGapMs, maxBatchTokens, workspace, clock, timeZone } = settings;
  const { reason = 'manual', model = settings.model } = options;
  const nothing = { messages: 0, bullets: [], paths: [] };
  if (flush === 'never' && reason === 'turn') return { status: 'never', ...nothing };
  // Nothing is marked as read: a model that is configured later reads the whole session.
  if (model === null) return { status: 'no_model', ...nothing };

  let progress = await readProgress(workspace, place.flushState);
  if (flush === 'throttled' && reason === 'turn' && progress.flushedAt !== undefined) {
    const age = clock.now() - Date.parse(progress.flushedAt);
    // A clock that was once ahead must not stop flushes until then.
    if (age >= 0 && age < flushGapMs) return { status: 'throttled', ...nothing };
  }
  const bullets: string[] = [];
  const paths = new Set<string>();
  let messages = 0;
  for (let more = true; more; ) {
    options.signal?.throwIfAborted();
    const batch = await nextBatch(workspace, place.log, progress.offset, tokensFor(model, maxBatchTokens));
    if (batch === undefined) break;
    const startedAt = performance.now();
    const note = dailyFile(dayIn(clock.now(), timeZone));
    const said = await statementsOf(settings, batch, place, note, progress, { ...options, model });
    const committed = await commitBatch(settings, place, batch, note, progress, said);
    progress = committed.progress;
    // If another process flushed the batch meanwhile, go on behind it.
    more = batch.more || !committed.isOwn;
    if (!committed.isOwn) continue;
    messages += batch.messages.length;
    bullets.push(...committed.texts);
    const path = committed.texts.length > 0 ? `${place.prefix}${note}` : undefined;
    if (path !== undefined) paths.add(path);
    if (batch.messages.length === 0) continue;
    options.emit?.({
      type: 'memory.flushed',
      messages: batch.messages.length,
      bullets: committed.texts.length,
      ...(path === undefined ? {} : { path }),
      durationMs: performance.now() - startedAt,
    });
  }
  return { status: 'flushed', messages, bullets, paths: [...paths] };
}

/** Asks the model what is worth remembering of a batch. */
async function statementsOf(
  settings: MemoryServiceSettings,
  { messages }: Batch,
  place: SessionPlace,
  noteFile: string,
  progress: FlushProgress,
  { model, ...options }: FlushOptions & { readonly model: Model },
): Promise<readonly Statement[]> {
  const { workspace, clock, timeZone } = settings;
  if (messages.length === 0) return [];
  if (progress.refusals >= MOST_REFUSALS) {
    const error = `The model's answers about ${messages.length} messages of session ${place.session} were refused ${MOST_REFUSALS} times, so these messages were skipped. They are still in the session's log.`;
    options.emit?.({ type: 'memory.failed', operation: 'flush', error });
    return [];
  }
  const [memory = '', note = ''] = [
    await readIfFound(workspace, `${place.prefix}${CORE_FILE}`),
    await readIfFound(workspace, `${place.prefix}${noteFile}`),
  ];
  const known = { memory, note, day: dayIn(clock.now(), timeZone) };
  const question = {
    ...options,
    operation: 'flush',
    system: FLUSH_INSTRUCTIONS,
    prompt: flushPrompt(messages, known, redactorFor(settings.redact), model.contextWindow),
    maxOutputTokens: ANSWER_TOKENS,
    countRefusal: () =>
      withCore(coreOptions(settings, place.prefix), async (_, change) => {
        const { progress: current, isOwn } = await currentProgress(workspace, place, progress);
        const refused = { ...current, refusals: current.refusals + 1 };
        if (isOwn) await change({ flushed: { path: place.flushState, progress: refused } });
      }),
  } as const;
  return askModel(model, question, parseBullets);
}

/** Writes the new facts of a batch to a note, unless the session was erased or another process flushed the batch. */
function commitBatch(
  settings: MemoryServiceSettings,
  place: SessionPlace,
  { messages, offset }: Batch,
  note: string,
  seen: FlushProgress,
  said: readonly Statement[],
) {
  const { workspace, clock } = settings;
  return withCore(coreOptions(settings, place.prefix), async (core, change) => {
    const { progress: current, isOwn } = await currentProgress(workspace, place, seen);
    if (!isOwn) return { progress: current, isOwn, texts: [] };
    const noted = factKeys((await readIfFound(workspace, `${place.prefix}${note}`)) ?? '');
    const { lines, again } = newLines(settings, place, core, noted, messages, said);
    const progress = { offset, flushedAt: new Date(clock.now()).toISOString(), refusals: 0 };
    const flushed = { path: place.flushState, progress };
    await change({ lines: { [note]: lines.map(renderNoteLine) }, again, flushed });
    return { progress, isOwn, texts: lines.map(({ text }) => text) };
  });
}

/** The lines to note of some statements, and the hashes of facts that were gone and that a person repeated since. */
function newLines(
  { redact, clock, timeZone }: MemoryServiceSettings,
  place: SessionPlace,
  { text: memory, state: { gone } }: Core,
  noted: ReadonlySet<string>,
  messages: readonly Message[],
  said: readonly Statement[],
) {
  const known = factKeys(memory);
  const again = new Set<string>();
  const lines: NoteLine[] = [];
  for (const { text: words, message } of said) {
    const text = plainLine(redactorFor(redact)(words));
    const key = factKey(text);
    const hash = keyHash(key);
    const by = messages[message ?? -1];
    const saidAt = Date.parse((by ?? messages.at(-1))?.createdAt ?? '') || clock.now();
    const saidOn = dayIn(saidAt, timeZone);
    const [goneOn = '', goneAt = ''] = gone[hash]?.split(' ') ?? [];
    // On the same day only a person brings a fact back, not an assistant that says what it has forgotten.
    const isLater = saidOn > goneOn || (by?.role === 'user' && saidAt > Date.parse(goneAt));
    // A time in the future says nothing about the order.
    const isAgain = hash in gone && saidAt <= clock.now() && isLater;
    if (key === '' || known.has(key) || (!isAgain && (noted.has(key) || hash in gone))) continue;
    known.add(key);
    if (isAgain) again.add(hash);
    const source = { sessionId: place.session, messageId: by?.id };
    lines.push({ text, author: 'model', saidOn, source });
  }
  return { lines, again };
}

/** The progress of a session, and whether it is still where it was, and the session was not erased. */
async function currentProgress(workspace: Workspace, place: SessionPlace, seen: FlushProgress) {
  const progress = await readProgress(workspace, place.flushState);
  const { offset } = progress;
  const isSame = offset?.end === seen.offset?.end && offset?.messageId === seen.offset?.messageId;
  return { progress, isOwn: isSame && (await workspace.stat(place.log)) !== undefined };
}
