import {
  isContextOverflow,
  type Message,
  type Model,
  type ModelRequest,
  textOf,
  type Usage,
  userMessage,
  withRetries,
} from '@x/core';
import {
  type Deadline,
  inPieces,
  mayRefuseItems,
  refuseNoAnswer,
  soundUsage,
  withinLimit,
} from '@x/core/internal';
import { distilled } from '../conversation/sentences.js';
import type { Meter } from '../meter.js';
import type { Composer } from './compose.js';
import { TOLERANCE } from './plan.js';
import { buildPrompt, checkAnswer, type SummaryPrompt, type Verdict } from './prompt.js';
import { fitToTokens, nonceFor, renderTranscript, type TranscriptEntry, takeChunk } from './transcript.js';
import { type KeptRequest, ofPrograms, SHORTEST_REQUEST } from './user-words.js';

/** A narrative to write: its messages, its model and its limits. */
export interface NarrativeTask {
  readonly composer: Composer;
  readonly model: Model;
  /** Maximum tokens of the narrative. */
  readonly maxTokens: number;
  /** The narrative so far, to be updated. */
  readonly previous: string | undefined;
  readonly messages: readonly Message[];
  /** The agent's own model request, up to the end of `messages`; `undefined` if another model writes the narrative. */
  readonly live: Pick<ModelRequest, 'system' | 'tools' | 'messages'> | undefined;
  /** The user's requests, oldest first. The prompt lists the first and as many of the latest as fit. */
  readonly requests: readonly Message[];
  /** The messages that come after `messages`. */
  readonly after: readonly Message[];
  /** The requests that stay verbatim in front of the summary, even if all messages are compacted. */
  readonly kept: readonly KeptRequest[];
  readonly signal: AbortSignal;
  /** Receives the usage of every call, including calls whose answer is not used. */
  readonly onUsage: (usage: Usage) => void;
}

/** Returns the tokens that the model can read and write together. */
function windowOf({ composer, model }: NarrativeTask): number {
  return model.contextWindow ?? composer.budget.contextWindow;
}

/** Share of `maxTokens` that a prompt asks for. The rest is for models that write a little more, because a cut-off answer is useless. */
const ASKED_SHARE = 0.9;

/** Share of the window, less the answer, that a request with a transcript may fill. The rest covers counting errors. */
const TRANSCRIPT_SHARE = 0.85;
/**
 * Share of the window that the live conversation, the question and the answer may fill. It is higher than `TRANSCRIPT_SHARE`, because
 * the provider has reported the tokens of the conversation.
 */
const LIVE_SHARE = 0.95;
/** Maximum number of times that chunks are halved. They are halved only once cutting tool results no longer helps. */
const MAX_HALVINGS = 2;
/** A chunk below this many tokens is not worth a call. */
const SMALLEST_CHUNK = 100;
/** Smallest tool-result length, in UTF-16 units, that is tried in order to fit the transcript into one request. */
const SHORT_RESULT = 2_000;
/** Share of the window that the list of the user's requests may fill. */
const REQUESTS_SHARE = 0.15;
/** Maximum UTF-16 units of one listed request, if a program wrote it, or if the model also reads it in the live conversation. */
const SHORT_REQUEST = 600;
/** Minimum tokens of an answer, as a share of the tokens that it summarizes. `SUFFICIENT_ANSWER` tokens are always enough. */
const MIN_ANSWER_SHARE = 0.01;
const SUFFICIENT_ANSWER = 30;
/** The retry policy, the same as for an agent's own calls. */
export const RETRIES = { maxRetries: 3, retryDelayMs: 1_000 };

/**
 * Asks a model to write the narrative of a summary. If the agent's own model writes it and the live conversation fits, the question is
 * added at the end of this conversation, which is already in the prompt cache. Otherwise the model reads a transcript in as many chunks as
 * its window needs. Each chunk updates the narrative.
 *
 * On an overflow, tool results are cut further, then chunks are halved; finished chunks are kept. With `retryTooLong`, if an answer is too
 * long, the model is first asked again with shorter tool results. An unusable answer gets one repair attempt. If the repaired answer is only
 * too long, it is shortened. Transient failures get three retries.
 *
 * @throws any error of the model, except overflows.
 */
export async function writeNarrative(task: NarrativeTask): Promise<Verdict> {
  // Long because every attempt to make room changes the entries, lengths and chunks that the next attempt uses.
  const { composer, maxTokens, after, signal } = task;
  const { settings: options, redact } = composer;
  const { meter, instructions, appendix } = composer.context;
  const verdict = await askInConversation(task);
  if (verdict) return verdict;
  const messages = messagesRead(task);
  const nonce = await inPieces(nonceFor(messages), signal);
  const { text: requests, listed } = requestsShown(task);
  const lengths = options.truncationRetries.filter((length) => length < options.toolResultLength);
  const numbers = new Map([...composer.numbers].map(([{ id }, at]) => [id, at]));
  const render = (length: number) =>
    inPieces(renderTranscript(messages, nonce, length, { listed, numbers, after }), signal);
  let entries = await render(options.toolResultLength);
  let narrative = task.previous;
  let done = 0;
  let shrink = 1;
  let perChunk = Math.ceil(messages.length / options.chunks);

  /** Renders tool results at the next length that makes anything shorter. Returns whether there is one. */
  const shorten = async (): Promise<boolean> => {
    const before = sizeOf(entries);
    while (lengths.length > 0 && sizeOf(entries) >= before) {
      entries = await render(lengths.shift() ?? 0);
    }
    return sizeOf(entries) < before;
  };

  const promptFor = (transcript: string, last: boolean): SummaryPrompt => {
    const sample = narrative ?? transcript;
    const asked = Math.floor(maxTokens * ASKED_SHARE);
    const length = (asked * sample.length) / Math.max(1, meter.text(sample));
    return buildPrompt(options, {
      transcript,
      nonce,
      previous: narrative,
      requests,
      instructions,
      appendix: last ? appendix : undefined,
      maxTokens: asked,
      maxLength: Math.floor(length / 100) * 100,
    });
  };

  const roomNow = () => {
    const { system, user } = promptFor('', true);
    return ((windowOf(task) - maxTokens) * TRANSCRIPT_SHARE - meter.text(system + user)) * shrink;
  };
  const tokensOf = (parts: readonly TranscriptEntry[]) =>
    parts.reduce((sum, { text }) => sum + meter.text(text), 0);
  while ((lengths[0] ?? 0) >= SHORT_RESULT && tokensOf(entries) > roomNow())
    entries = await render(lengths.shift() ?? 0);

  for (let halvings = 0; halvings <= MAX_HALVINGS; ) {
    try {
      while (done < entries.length) {
        const room = roomNow();
        if (room < SMALLEST_CHUNK) return { ok: false, problem: 'the summarizer’s window is too small' };
        const end = takeChunk(entries, done, perChunk, room, meter);
        const reading = (): Reading => {
          const parts = entries.slice(done, end).map(({ text }) => fitToTokens(text, room, meter));
          const transcript = parts.join('\n\n');
          return { prompt: promptFor(transcript, end === entries.length), read: meter.text(transcript) };
        };
        const readLess = async () => (options.retryTooLong && (await shorten()) ? reading() : undefined);
        const result = await ask(task, reading(), readLess);
        if (!result.ok) return result;
        narrative = redact(result.text);
        done = end;
      }
      return { ok: true, text: narrative ?? '' };
    } catch (error) {
      if (!isContextOverflow(error)) throw error;
      if (await shorten()) continue;
      halvings++;
      shrink /= 2;
      perChunk = Math.max(1, Math.ceil(perChunk / 2));
    }
  }
  return {
    ok: false,
    problem: 'the request to the summarizer overflowed even with the shortest tool results',
  };
}

/** Returns the messages that the model reads: the newest ones, at least one. */
function messagesRead({ messages, composer: { settings, context } }: NarrativeTask) {
  const { transcriptTokens: most = Infinity } = settings;
  let read = 0;
  const isTooOld = (message: Message) => {
    read += context.meter.message(message);
    return read > most;
  };
  return messages.slice(Math.min(messages.findLastIndex(isTooOld) + 1, messages.length - 1));
}

function sizeOf(entries: readonly TranscriptEntry[]): number {
  return entries.reduce((sum, { text }) => sum + text.length, 0);
}

/**
 * Lists the first and the latest request, cut if necessary, and as many requests before the latest as fit whole. `listed` maps the ids of
 * uncut requests to their numbers.
 */
function requestsShown(
  task: NarrativeTask,
  longest = Infinity,
): { text: string; listed: ReadonlyMap<string, number> } {
  const { composer, after } = task;
  const { meter } = composer.context;
  const { transcriptTokens = Infinity, keep } = composer.settings;
  const programs = new Set(ofPrograms(composer.view.messages).map(({ id }) => id));
  // The mark `stays` must still be true when the model has finished. While it writes, further requests can arrive. This does no harm, because
  // requests in front of a summary are shortened only once they exceed `maxRequests` by a quarter.
  const hasRoomForAll = meter.messages(task.requests) <= composer.maxRequests;
  const kept = new Set(task.kept.map(({ original }) => original.id));
  const later = new Set(after.map(({ id }) => id));
  const listed = new Map<string, number>();
  const requests = task.requests.flatMap((message, index) => {
    const whole = textOf(message.content);
    return whole === '' ? [] : [{ message, whole, number: index + 1 }];
  });
  type Request = (typeof requests)[number];
  const [first, ...rest] = requests;
  if (first === undefined) return { text: '', listed };
  let room = Math.min(windowOf(task), transcriptTokens) * REQUESTS_SHARE;
  const textFor = ({ message, whole }: Request) =>
    distilled(whole, programs.has(message.id) ? SHORT_REQUEST : longest);
  const take = (request: Request, text = textFor(request)) => {
    const { message, number } = request;
    const isLater = later.has(message.id);
    const isProgram = programs.has(message.id);
    const isStaying =
      keep.users > 0 &&
      !isProgram &&
      (isLater || kept.has(message.id)) &&
      (hasRoomForAll || meter.message(message) <= SHORTEST_REQUEST);
    const marks = [isStaying && 'stays', isLater && 'later', isProgram && 'written by a program'].filter(
      Boolean,
    );
    const fitted = fitToTokens(text, room, meter);
    room -= meter.text(fitted);
    if (fitted === text) listed.set(message.id, number);
    return `${number}. ${marks.length > 0 ? `(${marks.join(', ')}) ` : ''}${fitted}`;
  };
  const last = rest.at(-1);
  const latest = last ? [take(last)] : [];
  const shown = [take(first)];
  for (const request of rest.slice(0, -1).toReversed()) {
    const text = textFor(request);
    if (meter.text(text) > room) break;
    latest.unshift(take(request, text));
  }
  if (latest.length < rest.length) shown.push('[…]');
  return { text: [...shown, ...latest].join('\n'), listed };
}

/** Asks the agent's model at the end of its live conversation. Returns `undefined` if there is none, or if it does not fit. */
async function askInConversation(task: NarrativeTask): Promise<Verdict | undefined> {
  const { live, maxTokens, composer } = task;
  const { settings: options, redact } = composer;
  const { meter, instructions, appendix } = composer.context;
  if (!live || options.chunks > 1 || options.transcriptTokens) return undefined;
  const prompt = buildPrompt(options, {
    nonce: await inPieces(nonceFor(task.requests), task.signal),
    // The live conversation contains all requests whole.
    requests: requestsShown(task, SHORT_REQUEST).text,
    instructions,
    appendix,
    maxTokens: Math.floor(maxTokens * ASKED_SHARE),
  });
  const read = meter.messages(live.messages);
  const size = meter.frame(live) + read + meter.text(prompt.user) + maxTokens;
  if (size > windowOf(task) * LIVE_SHARE) return undefined;
  try {
    const verdict = await ask(task, { prompt, read, live });
    return verdict.ok ? { ...verdict, text: redact(verdict.text) } : verdict;
  } catch (error) {
    // A provider may reject its own earlier items. A transcript does not contain them.
    const hasItems = live.messages.some(({ content }) => content.some(({ type }) => type === 'opaque'));
    if (isContextOverflow(error) || (hasItems && mayRefuseItems(error))) return undefined;
    throw error;
  }
}

/** What one request to the model contains. */
interface Reading {
  readonly prompt: SummaryPrompt;
  /** Tokens that the model reads. */
  readonly read: number;
  readonly live?: NarrativeTask['live'];
}

/** @param readLess Returns a shorter reading, for another attempt after an answer that is too long; `undefined` if there is none. */
async function ask(
  task: NarrativeTask,
  { prompt, read, live }: Reading,
  readLess?: () => Promise<Reading | undefined>,
): Promise<Verdict> {
  const { model, signal, maxTokens, composer } = task;
  const { meter } = composer.context;
  const request = async (text: string, maxOutputTokens: number) => {
    const asked: ModelRequest = {
      system: live ? live.system : prompt.system,
      messages: [...(live?.messages ?? []), userMessage(text)],
      tools: live?.tools ?? [],
      maxOutputTokens,
    };
    const limit = [`Model ${model.id}`, 'summary.timeoutMs', composer.timeoutMs] as const;
    const generate = async (deadline: Deadline) => {
      const response = await model.generate({ ...asked, signal: deadline.signal });
      refuseNoAnswer(model, response);
      const estimate = { inputTokens: read, outputTokens: meter.text(textOf(response.content)) };
      task.onUsage(soundUsage(response.usage) ?? estimate);
      return response;
    };
    return withRetries(() => withinLimit(limit, generate, signal), { ...RETRIES, signal });
  };

  const limits = {
    sections: prompt.sections,
    shortest: Math.min(SUFFICIENT_ANSWER, maxTokens / 2, read * MIN_ANSWER_SHARE),
    longest: Math.floor(maxTokens * TOLERANCE),
    count: (text: string) => meter.text(text),
  };
  const first = await request(prompt.user, maxTokens);
  const verdict = checkAnswer(first, limits);
  if (verdict.ok) return verdict;
  signal?.throwIfAborted();
  const shorter = verdict.tooLong === undefined ? undefined : await readLess?.();
  if (shorter !== undefined) return ask(task, shorter, readLess);

  const complaint = `${prompt.user}\n\nAn earlier answer could not be used: ${verdict.problem}. Answer once more, with nothing but the record.`;
  // Reasoning uses output tokens, so the second attempt after a cut-off answer gets twice the limit.
  const second = await request(complaint, first.finishReason === 'length' ? maxTokens * 2 : maxTokens);
  const repaired = checkAnswer(second, limits);
  if (repaired.ok || repaired.tooLong === undefined) return repaired;
  return { ok: true, text: shortened(repaired.tooLong, limits.longest, meter) };
}

/** Shortens the longest sections of a narrative, each in its middle, until the text has at most `tokens` tokens. */
function shortened(text: string, tokens: number, meter: Meter): string {
  const sections = text.split(/\n(?=[ \t]*(?:#{1,6} |\*\*))/);
  const sizes = sections.map((section) => meter.text(section)).toSorted((a, b) => a - b);
  let room = tokens;
  let most = 0;
  for (const [index, size] of sizes.entries()) {
    most = room / (sizes.length - index);
    if (size > most) break;
    room -= size;
  }
  return sections.map((section) => fitToTokens(section, most, meter)).join('\n');
}
