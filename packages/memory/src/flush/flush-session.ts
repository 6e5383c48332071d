import { isDeepStrictEqual } from 'node:util';
import type { Message, Model } from '@x/core';
import { type AskOptions, askModel, tokensFor } from '../ask-model.js';
import { unlessLocked } from '../exclusively.js';
import { type Core, coreOptions, withCore } from '../facts/core-file.js';
import { type FlushOffset, readProgress } from '../facts/memory-state.js';
import { dayIn } from '../index/dates.js';
import { dailyFile, readCore, readIfFound } from '../memory-files.js';
import type { SessionPlace } from '../memory-scope.js';
import { factKey, factKeys, keyHash, type NoteLine, plainLine, renderNoteLine } from '../notes.js';
import type { MemoryServiceSettings } from '../settings.js';
import { FLUSH_INSTRUCTIONS, flushPrompt, parseBullets, type Statement } from './flush-prompt.js';
import { type Batch, nextBatch } from './log-batches.js';

/** Estimated tokens of messages that are read in one batch. */
const MAX_BATCH_TOKENS = 12_000;
/** How long an automatic flush waits for another process that flushes the session. That process reads the new messages, too. */
const PATIENCE_MS = 1_000;

/** Options of one flush. */
export interface FlushOptions extends AskOptions {
  /** The cause: the end of a turn, a compaction, or an explicit call. Default `manual`. */
  readonly reason?: 'turn' | 'compaction' | 'manual' | undefined;
}

/** The result of a flush. */
export interface FlushOutcome {
  /** `skipped`: by configuration, or because no model can read the conversation. */
  readonly status: 'flushed' | 'skipped';
  /** Number of messages that were read. */
  readonly messages: number;
  /** The facts that were written, without list markers. */
  readonly bullets: readonly string[];
  /** The notes that were changed, as paths in the workspace. */
  readonly paths: readonly string[];
}

/**
 * Writes the new facts of a session to the note of the day, `memory/YYYY-MM-DD.md`. It reads the session's log from where the last flush
 * stopped. So a flush costs only the new messages, and a compaction loses nothing.
 *
 * The lines of the note and the progress of the session are one change of the memory, so a crash neither loses nor duplicates a line.
 * Several processes may flush one session and write to one note.
 */
export async function flushSession(
  settings: MemoryServiceSettings,
  place: SessionPlace,
  options: FlushOptions = {},
): Promise<FlushOutcome> {
  const { flush, flushGapMs, workspace, clock, timeZone } = settings;
  const { reason = 'manual', model = settings.model, signal, emit } = options;
  let { offset, flushedAt = '', failed } = await readProgress(workspace, place.flushState);
  const age = clock.now() - Date.parse(flushedAt);
  // A clock that was once ahead must not block flushes.
  const isRecent = age >= 0 && age < flushGapMs;
  // A model that always fails must not cost three calls per turn. The messages wait, and are read at once.
  const isThrottled = isRecent && (flush === 'throttled' || failed === true);
  const isOff = reason === 'turn' && (flush === 'never' || isThrottled);
  // The progress does not change, so a model that is configured later reads the whole session.
  if (model === null || isOff) return { status: 'skipped', messages: 0, bullets: [], paths: [] };
  const done = { messages: 0, bullets: [] as string[], paths: new Set<string>() };
  const flushAll = async () => {
    ({ offset } = await readProgress(workspace, place.flushState));
    for (;;) {
      signal?.throwIfAborted();
      const batch = await nextBatch(workspace, place.log, offset, tokensFor(model, MAX_BATCH_TOKENS));
      if (batch === undefined) return;
      const startedAt = performance.now();
      const day = dayIn(clock.now(), timeZone);
      const said = await saidIn(settings, batch.messages, place, day, { model, signal, emit });
      const { offset: next, texts } = await commitBatch(settings, place, batch, day, offset, said);
      offset = next;
      const messages = batch.messages.length;
      if (texts === undefined || messages === 0) continue;
      done.messages += messages;
      done.bullets.push(...texts);
      const path = `${place.prefix}${dailyFile(day)}`;
      if (texts.length > 0) done.paths.add(path);
      const durationMs = performance.now() - startedAt;
      const where = texts.length > 0 ? { path } : {};
      if (said) emit?.({ type: 'memory.flushed', messages, bullets: texts.length, ...where, durationMs });
    }
  };
  // One process at a time, so that no two pay for the same messages.
  const patienceMs = reason === 'manual' ? undefined : PATIENCE_MS;
  await unlessLocked(workspace, `memory flush ${place.log}`, flushAll, patienceMs);
  return { status: 'flushed', ...done, paths: [...done.paths] };
}

/** Asks the model for facts in some messages. Returns `undefined` if its answers cannot be used. */
async function saidIn(
  { workspace, redact }: MemoryServiceSettings,
  messages: readonly Message[],
  { prefix, session }: SessionPlace,
  day: string,
  { model, ...options }: AskOptions & { readonly model: Model },
): Promise<readonly Statement[] | undefined> {
  if (messages.length === 0) return [];
  const [memory, note = ''] = [
    await readCore(workspace, prefix),
    await readIfFound(workspace, `${prefix}${dailyFile(day)}`),
  ];
  const question = {
    ...options,
    operation: 'flush',
    about: `the newest part of session ${session} (it stays in the log)`,
    system: FLUSH_INSTRUCTIONS,
    prompt: flushPrompt(messages, { memory, note, day }, redact, model.contextWindow),
  } as const;
  return askModel(model, question, parseBullets);
}

/**
 * Writes the new facts of a batch to the note of a day. Returns them, and where to read on. If another process flushed or erased the
 * session meanwhile, it writes nothing.
 */
function commitBatch(
  settings: MemoryServiceSettings,
  place: SessionPlace,
  { messages, offset }: Batch,
  day: string,
  seen: FlushOffset | undefined,
  said: readonly Statement[] | undefined,
): Promise<{ readonly offset: FlushOffset | undefined; readonly texts?: readonly string[] }> {
  const { workspace, clock } = settings;
  const note = dailyFile(day);
  return withCore(coreOptions(settings, place.prefix), async (core, change) => {
    const current = await readProgress(workspace, place.flushState);
    const isSame = isDeepStrictEqual(current.offset, seen);
    if (!isSame || (await workspace.stat(place.log)) === undefined) return { offset: current.offset };
    const noted = factKeys((await readIfFound(workspace, `${place.prefix}${note}`)) ?? '');
    const { lines, again } = newLines(settings, place, core, noted, messages, said ?? []);
    const flushedAt = new Date(clock.now()).toISOString();
    const progress = { offset, flushedAt, ...(said ? {} : { failed: true }) };
    const flushed = { path: place.flushState, progress };
    await change({ lines: { [note]: lines.map(renderNoteLine) }, again, flushed });
    return { offset, texts: lines.map(({ text }) => text) };
  });
}

/** Returns the note lines of some statements, and the hashes of removed facts that a person repeated since. */
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
    const text = plainLine(redact(words));
    const key = factKey(text);
    const hash = keyHash(key);
    const by = messages[message ?? -1];
    const saidAt = Date.parse((by ?? messages.at(-1))?.createdAt ?? '') || clock.now();
    const saidOn = dayIn(saidAt, timeZone);
    const [goneOn = '', goneAt = ''] = gone[hash]?.split(' ') ?? [];
    // On the day of removal, only a person restores a fact. An assistant may just be reporting what it has forgotten.
    const isLater = saidOn > goneOn || (by?.role === 'user' && saidAt > Date.parse(goneAt));
    // A time in the future says nothing about the order of events.
    const isAgain = hash in gone && saidAt <= clock.now() && isLater;
    if (key === '' || known.has(key) || (!isAgain && (noted.has(key) || hash in gone))) continue;
    known.add(key);
    if (isAgain) again.add(hash);
    const source = { sessionId: place.session, messageId: by?.id };
    lines.push({ text, author: 'model', saidOn, source });
  }
  return { lines, again };
}
