import type { Message, Model, Workspace } from '@x/core';
import { type AskOptions, askModel, MOST_REFUSALS, tokensFor } from '../ask-model.js';
import { coreOptions, hearAgain } from '../consolidate/core-file.js';
import { readState } from '../consolidate/memory-state.js';
import { exclusively, memoryLock } from '../exclusively.js';
import { dayIn } from '../index/dates.js';
import { CORE_FILE, dailyFile, readIfFound, writeJson } from '../memory-files.js';
import type { SessionPlace } from '../memory-scope.js';
import { factKey, factKeys, keyHash, parseNoteLine, plainLine, renderNoteLine } from '../notes.js';
import { type MemoryServiceSettings, redactorFor } from '../settings.js';
import { FLUSH_INSTRUCTIONS, flushPrompt, parseBullets } from './flush-prompt.js';
import {
  type Batch,
  entryId,
  type FlushEntry,
  type FlushState,
  holdsEntry,
  missingFrom,
  nextBatch,
  readFlushState,
} from './flush-state.js';

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
 * Writes what is worth remembering of a conversation to the note of the day, `memory/YYYY-MM-DD.md`, which is only ever
 * added to. It reads the session's log from where it last stopped, so that a flush costs what was said since, and nothing
 * is lost to a compaction.
 *
 * Every step can be repeated: what is to be written is first noted in the session's own file (`memory/.flush/`), and a
 * mark in the note tells what is there. A crash at any point loses no bullet and doubles none. Several processes may
 * flush one session, and write to one note.
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

  let state = await readFlushState(workspace, place.flushState);
  if (state.pending !== undefined) state = await settle(workspace, place, async (current) => current);
  if (flush === 'throttled' && reason === 'turn' && state.flushedAt !== undefined) {
    const age = clock.now() - Date.parse(state.flushedAt);
    // A clock that was once ahead must not silence the memory until then.
    if (age >= 0 && age < flushGapMs) return { status: 'throttled', ...nothing };
  }
  const bullets: string[] = [];
  const paths = new Set<string>();
  let messages = 0;
  let more = true;
  while (more) {
    options.signal?.throwIfAborted();
    const batch = await nextBatch(workspace, place.log, state.offset, tokensFor(model, maxBatchTokens));
    if (batch === undefined) break;
    const startedAt = performance.now();
    const note = `${place.prefix}${dailyFile(dayIn(clock.now(), timeZone))}`;
    const entry = await entryOf(settings, batch, place, note, state, { ...options, model });
    const { offset } = batch;
    const next = entry.bullets.length === 0 ? { offset } : { pending: { note, entry, offset } };
    const flushedAt = new Date(clock.now()).toISOString();
    const committed = await advance(workspace, place, state, { flushedAt, refusals: 0, ...next });
    state = committed.state;
    // Somebody else may have flushed the batch meanwhile: go on behind it.
    more = batch.more || !committed.own;
    if (!committed.own) continue;
    messages += batch.messages.length;
    bullets.push(...entry.bullets.map((line) => parseNoteLine(line).text));
    if (entry.bullets.length > 0) paths.add(note);
    if (batch.messages.length === 0) continue;
    options.emit?.({
      type: 'memory.flushed',
      messages: batch.messages.length,
      bullets: entry.bullets.length,
      ...(entry.bullets.length > 0 ? { path: note } : {}),
      durationMs: performance.now() - startedAt,
    });
  }
  return { status: 'flushed', messages, bullets, paths: [...paths] };
}

/** Makes what is to be written of a batch. */
async function entryOf(
  settings: MemoryServiceSettings,
  { messages }: Batch,
  place: SessionPlace,
  note: string,
  state: FlushState,
  { model, signal, emit }: FlushOptions & { readonly model: Model },
): Promise<FlushEntry> {
  const { workspace, clock, timeZone } = settings;
  const redact = redactorFor(settings.redact);
  const id = entryId(place.log, messages);
  const noted = (await readIfFound(workspace, note)) ?? '';
  if (messages.length === 0 || holdsEntry(noted, id)) return { id, bullets: [] };
  if (state.refusals >= MOST_REFUSALS) {
    const error = `The model's answers about ${messages.length} messages of session ${place.session} were refused ${MOST_REFUSALS} times, so these messages were skipped. They are still in the session's log.`;
    emit?.({ type: 'memory.failed', operation: 'flush', error });
    return { id, bullets: [] };
  }
  const memory = (await readIfFound(workspace, `${place.prefix}${CORE_FILE}`)) ?? '';
  const known = { memory, note: noted, day: dayIn(clock.now(), timeZone) };
  const question = {
    operation: 'flush',
    system: FLUSH_INSTRUCTIONS,
    prompt: flushPrompt(messages, known, redact, model.contextWindow),
    maxOutputTokens: ANSWER_TOKENS,
    signal,
    emit,
    countRefusal: () => advance(workspace, place, state, { refusals: state.refusals + 1 }),
  } as const;
  const found = await askModel(model, question, parseBullets);
  const inFront = factKeys(memory);
  const inNote = factKeys(noted);
  const { gone } = await readState(workspace, place.prefix);
  const again = new Set<string>();
  const bullets: string[] = [];
  for (const { text: said, message } of found) {
    const text = plainLine(redact(said));
    const key = factKey(text);
    const hash = keyHash(key);
    const by: Message | undefined = messages[message ?? -1];
    const saidAt = Date.parse((by ?? messages.at(-1))?.createdAt ?? '') || clock.now();
    const saidOn = dayIn(saidAt, timeZone);
    const [goneOn = '', goneAt = ''] = gone[hash]?.split(' ') ?? [];
    // On the same day only what a person said: an assistant that says what it has forgotten does not bring it back.
    const isLater = saidOn > goneOn || (by?.role === 'user' && saidAt > Date.parse(goneAt));
    // A time that has not come yet tells of no order.
    const isAgain = hash in gone && saidAt <= clock.now() && isLater;
    if (key === '' || inFront.has(key) || (!isAgain && (inNote.has(key) || hash in gone))) continue;
    inFront.add(key);
    if (isAgain) again.add(hash);
    const source = { sessionId: place.session, messageId: by?.id };
    bullets.push(renderNoteLine({ text, author: 'model', saidOn, source }).slice('- '.length));
  }
  await hearAgain(coreOptions(settings, place.prefix), again);
  return { id, bullets };
}

/** Changes where a session stands, unless it was erased, or somebody else has flushed these messages since `seen`. */
function advance(workspace: Workspace, place: SessionPlace, seen: FlushState, change: Partial<FlushState>) {
  return settle(workspace, place, async (current, check) => {
    const own = (await workspace.stat(place.log)) !== undefined && isAt(current, seen);
    if (!own) return { state: current, own };
    const state = { ...current, ...change };
    await check();
    await writeJson(workspace, place.flushState, state);
    return { state: await finish(workspace, place, state, check), own };
  });
}

/** Completes what an earlier process left undone, and runs a task alone with where the session stands. */
function settle<T>(
  workspace: Workspace,
  place: SessionPlace,
  task: (state: FlushState, check: () => Promise<void>) => Promise<T>,
): Promise<T> {
  return exclusively(workspace, memoryLock(place.prefix), async (check) => {
    const state = await readFlushState(workspace, place.flushState);
    return task(await finish(workspace, place, state, check), check);
  });
}

async function finish(
  workspace: Workspace,
  place: SessionPlace,
  state: FlushState,
  check: () => Promise<void>,
): Promise<FlushState> {
  if (state.pending === undefined) return state;
  const { note, entry, offset } = state.pending;
  // What was forgotten since is not written.
  const { gone } = await readState(workspace, place.prefix);
  const bullets = entry.bullets.filter((bullet) => !(keyHash(factKey(bullet)) in gone));
  const missing = missingFrom((await readIfFound(workspace, note)) ?? '', { ...entry, bullets });
  await check();
  if (missing !== '') await workspace.append(note, missing);
  const { pending: _, ...rest } = state;
  const finished = { ...rest, offset };
  await writeJson(workspace, place.flushState, finished);
  return finished;
}

/** Whether both stand behind the same message. */
function isAt({ offset: left }: FlushState, { offset: right }: FlushState): boolean {
  return left?.end === right?.end && left?.messageId === right?.messageId;
}
