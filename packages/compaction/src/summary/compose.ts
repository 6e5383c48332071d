import { type Message, textOf } from '@x/core';
import { atOnce, memoize, type Redact, type Work } from '@x/core/internal';
import { redactMessage } from '../conversation/redaction.js';
import { isUserRequest } from '../conversation/regions.js';
import { distilled } from '../conversation/sentences.js';
import { mapStrings } from '../conversation/text.js';
import type { Entry } from '../record/entry.js';
import { excerptsOf } from '../record/excerpts.js';
import { type NumberedMessage, selectMessages } from '../record/select-messages.js';
import { writeRecord } from '../record/write-record.js';
import { recordTokens, requestTokens } from '../run/budget.js';
import {
  type Fate,
  isByMessages,
  mustShrink,
  type Reduction,
  type ReductionTarget,
  type StageContext,
  type View,
} from '../stage.js';
import { savesEnough, savesMessages } from '../stages/alter-messages.js';
import { stayingTokens } from '../stages/cut-unseen.js';
import { type Partition, partitionAt, reassemble } from './cut.js';
import { numbersOf } from './numbers.js';
import type { SummarizeOptions } from './options.js';
import {
  type EarlierSummaries,
  type Narrative,
  readSummaries,
  type SummaryParts,
  summaryMessage,
} from './summary-message.js';
import { wordsOf } from './user-words.js';

/** If a trigger counts messages: the share of that number that requests in front of the summary may use. */
const REQUESTS_SHARE = 0.25;
/** Smallest room for a useful summary, in tokens. */
export const LEAST_SUMMARY = 400;
/** Tokens around a record: tags, headlines, the legend. */
const FRAME = 120;
/** Maximum tokens of the headline and the legend of a record. */
const LEGEND = 200;
/** Minimum share of its room that the record keeps next to a narrative. The record has facts that the narrative may omit. */
export const BESIDE_NARRATIVE = 0.2;

/** Maximum UTF-16 units of a request that is only left in the record. */
const FOLDED = 400;

/** A conversation with its older part replaced. */
export interface Candidate {
  readonly part: Partition;
  readonly messages: readonly Message[];
  /** Tokens of the conversation, without system prompt and tools. */
  readonly tokens: number;
  /** `true` if the summary has any content about the part that it replaces. An empty summary would lose that part. */
  readonly tells: boolean;
  /** A note if fewer messages stay than `keep` requires. */
  readonly note?: string | undefined;
}

/** Composes the summary of one part of a conversation from a narrative and a record. Does not call a model. */
export class Composer {
  readonly settings: SummarizeOptions;
  readonly view: View;
  readonly budget: ReductionTarget;
  readonly context: StageContext;
  readonly redact: Redact;
  /** Maximum tokens of a record. */
  readonly maxRecord: number;
  /** Tokens left in a request after everything that no compaction can remove. */
  readonly room: number;
  /** Maximum tokens of the user's requests in front of the summary, except the latest request. */
  readonly maxRequests: number;
  /** The running numbers of messages. */
  readonly numbers: ReadonlyMap<Message, number>;

  constructor(settings: SummarizeOptions, view: View, budget: ReductionTarget, context: StageContext) {
    this.redact = context.redact ?? ((text) => text);
    const redacted = (text: string | undefined) => text && this.redact(text);
    this.view = view;
    this.budget = budget;
    this.settings = { ...settings, instructions: redacted(settings.instructions) };
    this.context = {
      ...context,
      instructions: redacted(context.instructions),
      appendix: redacted(context.appendix),
    };
    this.maxRecord = recordTokens(settings.record, budget.dueTokens);
    this.numbers = numbersOf(view.messages, context.original);
    this.room = Math.max(0, budget.mostTokens - stayingTokens(view, context.meter));
    this.maxRequests = Math.floor(Math.min(requestTokens(settings.keep.users, budget), this.room / 2));
  }

  /**
   * Splits the conversation at an index. Limits the requests in front of the summary, so that they do not reach a message trigger again.
   */
  partition(cut: number): Partition {
    const { dueMessages, targetMessages } = this.budget;
    const { messages: kept } = this.settings.keep;
    const most =
      kept === undefined
        ? targetMessages / 2
        : Math.max(1, Math.floor((dueMessages - kept - 1) * REQUESTS_SHARE));
    return partitionAt(this.view.messages, cut, this.maxRequests, this.context.meter, most);
  }

  /** Computes what the summary of a part needs apart from narrative and record. Cached by part. */
  readonly #around = memoize((part: Partition) => {
    const { meter, appendix } = this.context;
    const earlier = readSummaries(part.previous);
    const requests = new Set(part.requests.map(({ original }) => original.id));
    const numbered: NumberedMessage[] = [];
    const standing = new Map<string, number>();
    for (const message of part.covered) {
      const at = this.numbers.get(message);
      if (at === undefined) continue;
      numbered.push({ at, message });
      if (requests.has(message.id)) standing.set(message.id, at);
    }
    // The summary must not be larger than what it replaces. If it mainly replaces an earlier summary, it is halved, because trimming a
    // little at a time would rewrite the conversation at every step.
    const previous = part.previous.reduce((sum, message) => sum + meter.text(textOf(message)), 0);
    const replacing =
      this.budget.reason !== 'manual' && part.previous.length > 0 && part.fresh === part.covered.length
        ? previous / 2
        : (meter.messages(part.covered) - meter.messages(part.requests.map((r) => r.original))) * 0.6 +
          previous;
    // If the number of messages is the trigger, a short summary may be longer than what it replaces.
    const most = isByMessages(this.view, this.budget) ? Math.max(replacing, LEAST_SUMMARY) : replacing;
    const others = this.view.fixedTokens + meter.messages(reassemble(part, [])) + meter.text(appendix ?? '');
    const replaced = [...part.previous, ...part.covered].filter(({ id }) => !requests.has(id));
    const covers = replaced.map(({ id }) => id);
    const count = Math.max(earlier.count, numbered.at(-1)?.at ?? 0);
    return { earlier, requests, numbered, standing, most, others, covers, count };
  });

  /** Milliseconds for one answer of a model: the shorter of two limits; 0 for no limit. */
  get timeoutMs(): number {
    return (
      Math.min(this.settings.timeoutMs || Infinity, this.context.work.modelMs || Infinity) % Infinity || 0
    );
  }

  /** Counts the tokens of a request with this conversation. */
  total({ tokens }: Candidate): number {
    return this.view.fixedTokens + tokens;
  }

  /** Tokens of the conversation before the compaction. */
  get before(): number {
    return this.view.tokens - this.view.fixedTokens;
  }

  /** Returns the message as it was before this compaction, with secrets redacted. */
  redactedOriginal(message: Message): Message {
    return redactMessage(this.context.original(message), this.redact);
  }

  /** Returns the conversation with an empty summary of a part. */
  bare(part: Partition): Candidate {
    return atOnce(this.compose(part, undefined, 0));
  }

  /** Composes the summary of a part with a record of at most `maxRecord` tokens. */
  *compose(
    part: Partition,
    narrative: Narrative | undefined,
    maxRecord: number,
    native?: SummaryParts['native'],
  ): Work<Candidate> {
    const { meter, appendix, logLocation, recall } = this.context;
    const { requests, covers, count, standing, most, others } = this.#around(part);
    const written = narrative && { ...narrative, text: this.redact(narrative.text) };
    const told = meter.text(written?.text ?? '');
    // Next to a narrative, the record gets the rest of the target after the narrative and the newest messages, unless the user set its
    // size. Without a narrative it gets its share: in tests, readers answered no more questions from a larger record.
    const spare = this.settings.record === undefined ? this.budget.targetTokens - others - told : 0;
    const wanted = told > 0 ? Math.max(maxRecord * BESIDE_NARRATIVE, spare) : maxRecord;
    const isAfterRequests = requests.size > 0;
    const frame = { appendix, logLocation, recall, covers, count, standing, isAfterRequests };
    const composed = (record: readonly Entry[]) =>
      reassemble(part, [summaryMessage({ narrative: written, record, ...frame, native })]);
    // Counts the rest of the message, because `drop_oldest` drops the user's words if the request is even a few tokens too large.
    const restOf = () =>
      this.budget.mostTokens - this.view.fixedTokens - meter.messages(composed([])) - LEGEND;
    const room = maxRecord === 0 ? 0 : Math.min(wanted - FRAME, most - FRAME, restOf());
    const record = room > 0 ? yield* writeRecord(yield* this.#recordInput(part, room, written?.text)) : [];
    const messages = composed(record);
    const isAsked = part.covered.every(isUserRequest);
    const tells = told > 0 || record.some(({ kind }) => isAsked || kind !== 'asked');
    return { part, messages, tokens: meter.messages(messages), tells };
  }

  /** Reads the messages that a record of `room` tokens is written from, and the earlier records. */
  *#recordInput(part: Partition, room: number, narrative: string | undefined) {
    const { earlier, requests, numbered } = this.#around(part);
    const recorded = numbered.filter(({ message }) => !earlier.standing.has(message.id));
    yield;
    const { read, counted } = yield* selectMessages(recorded, room);
    // Redact secrets before cutting any text: half a secret would not be recognized.
    const offered = (message: Message) => excerptsOf(message, this.context.redact);
    const asked = part.requests.map(({ original }) => original);
    for (const message of [...read.map((it) => this.context.original(it.message)), ...part.tail, ...asked]) {
      offered(message);
      yield;
    }
    return {
      earlier: [...mapStrings(withFolded(earlier, part, requests), this.redact), ...counted],
      covered: read.map(({ at, message }) => ({ at, excerpts: offered(this.context.original(message)) })),
      staying: part.tail.map(offered),
      standing: new Set(asked.map(offered)),
      narrative,
      tools: this.context.tools ?? [],
      room,
      meter: this.context.meter,
    };
  }

  /** Tests if the candidate is worth a change of the conversation. */
  savesEnough(candidate: Candidate): boolean {
    // If the message count is the trigger, only rewriting an earlier summary would save no message and be due again at once.
    const { part, messages } = candidate;
    const byNumber = isByMessages(this.view, this.budget);
    const nothingNew = part.previous.length > 0 && part.fresh === part.covered.length;
    if (byNumber && nothingNew && messages.length >= this.view.messages.length) return false;
    if (this.budget.forced && mustShrink(this.view, this.budget)) return candidate.tokens < this.before;
    if (byNumber) return savesMessages(this.view.messages.length, messages.length, this.settings.saving);
    return savesEnough(this.before, candidate.tokens, this.settings.saving);
  }
}

/** Returns the entries of earlier records. Requests that no longer stay in front of the summary get a longer excerpt. */
function withFolded(earlier: EarlierSummaries, part: Partition, requests: ReadonlySet<string>): Entry[] {
  const folded = new Map<number, string>();
  for (const message of part.covered) {
    const at = earlier.standing.get(message.id);
    if (at !== undefined && !requests.has(message.id)) folded.set(at, wordsOf(message));
  }
  return earlier.record.map((entry) => {
    const text = entry.kind === 'asked' ? folded.get(entry.at) : undefined;
    return text === undefined ? entry : { ...entry, text: distilled(text, FOLDED, true) };
  });
}

/** @param gone The fate of a message that is removed entirely. */
export function condensed(
  { part, messages, note: yielded }: Candidate,
  gone: Fate['fate'],
  note: string | undefined,
): Reduction {
  const requests = new Map(part.requests.map(({ original, message }) => [original, message]));
  const fates = [
    ...part.previous.map(({ id }): Fate => ({ messageId: id, fate: 'merged' })),
    ...part.covered.flatMap((message): Fate | readonly never[] => {
      const kept = requests.get(message);
      return kept === message ? [] : { messageId: message.id, fate: kept ? 'truncated' : gone };
    }),
  ];
  const notes = [yielded, note].filter(Boolean).join('; ');
  return { messages, fates, condensed: true, ...(notes ? { note: notes } : {}) };
}
