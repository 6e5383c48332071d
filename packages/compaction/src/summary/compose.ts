import { type Message, textOf } from '@x/core';
import { atOnce, type Redact, type Work } from '@x/core/internal';
import { once } from '../conversation/once.js';
import { redactMessage, redactorFor } from '../conversation/redaction.js';
import { isUserRequest } from '../conversation/regions.js';
import { distilled } from '../conversation/sentences.js';
import { mapStrings } from '../conversation/text.js';
import type { Entry } from '../record/entry.js';
import { excerptsOf } from '../record/excerpts.js';
import { writeRecord } from '../record/write-record.js';
import { recordTokens } from '../run/budget.js';
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
import { type ModelWork, NarrativeDesk } from './narrative-desk.js';
import { numbersOf } from './numbers.js';
import type { SummarizeOptions } from './options.js';
import { Patience } from './patience.js';
import {
  type EarlierSummaries,
  type Narrative,
  readSummaries,
  type SummaryParts,
  summaryMessage,
} from './summary-message.js';
import { wordsOf } from './user-words.js';

/** Where the number of messages is limited, requests in front have this share of what may come until the next reduction. */
const REQUESTS_SHARE = 0.25;
/** Tokens in which a summary can still tell something. */
export const LEAST_SUMMARY = 400;
/** Tokens of what stands around a record: tags, headlines, the legend. */
const FRAME = 120;
/** Beside a narrative the record has this share of its room at least: it holds what the narrative may have left out. */
export const BESIDE_NARRATIVE = 0.2;

/** UTF-16 units of a request that the record alone holds. */
const FOLDED = 400;

/** A conversation with its older part replaced. */
export interface Candidate {
  readonly part: Partition;
  readonly messages: readonly Message[];
  /** Tokens of the conversation, without system prompt and tools. */
  readonly tokens: number;
  /** Its summary tells something of what it stands for: a frame with nothing in it would lose all of that. */
  readonly tells: boolean;
  /** Says that less stays than the user named. */
  readonly note?: string | undefined;
}

/** Composes the summary of a part of one conversation: narrative, record, and what stands around them. Asks no model. */
export class Composer {
  readonly settings: SummarizeOptions;
  readonly view: View;
  readonly budget: ReductionTarget;
  readonly context: StageContext;
  readonly redact: Redact;
  /** Tokens that a record may have. */
  readonly maxRecord: number;
  /** Tokens that a request has room for beside what no compaction takes. */
  readonly room: number;
  /** Tokens that the user's requests in front of the summary may have, beside the latest one. */
  readonly maxRequests: number;
  /** Where models write; a stage that someone runs alone has nobody who would take what comes late. */
  readonly work: ModelWork & { readonly conversation: readonly Message[] };
  /** The running numbers of messages. */
  readonly numbers: ReadonlyMap<Message, number>;

  constructor(settings: SummarizeOptions, view: View, budget: ReductionTarget, context: StageContext) {
    this.redact = redactorFor(settings.redact) ?? ((text: string) => text);
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
    this.numbers = numbersOf(view.messages);
    const { conversation = view.messages, signal } = context;
    const nobody = { onUsage: () => {}, warn: () => {}, signal };
    const { work = { ...nobody, desk: new NarrativeDesk(), patience: new Patience(settings.waitMs) } } =
      context;
    this.work = { ...work, conversation };
    this.room = Math.max(0, budget.mostTokens - stayingTokens(view, context.meter));
    this.maxRequests = Math.floor(
      Math.min(settings.keep.users * Math.min(budget.contextWindow, budget.dueTokens * 1.2), this.room / 2),
    );
  }

  /** Cuts the conversation at an index. Requests in front of the summary must not reach a trigger that counts messages again. */
  partition(cut: number): Partition {
    const { dueMessages, targetMessages } = this.budget;
    const { messages: kept } = this.settings.keep;
    const most =
      kept === undefined
        ? targetMessages / 2
        : Math.max(1, Math.floor((dueMessages - kept - 1) * REQUESTS_SHARE));
    return partitionAt(this.view.messages, cut, this.maxRequests, this.context.meter, most);
  }

  /** What a summary of a part has around it, whatever it says: worked out once for each part. */
  readonly #around = once((part: Partition) => {
    const { meter, appendix } = this.context;
    const earlier = readSummaries(part.previous);
    const requests = new Set(part.requests.map(({ original }) => original.id));
    const numbered: { readonly at: number; readonly message: Message }[] = [];
    const standing = new Map<string, number>();
    for (const message of part.covered) {
      const at = this.numbers.get(message);
      if (at === undefined) continue;
      numbered.push({ at, message });
      if (requests.has(message.id)) standing.set(message.id, at);
    }
    // Never so much that the summary outgrows what it replaces. An earlier one that is in the way by itself is halved:
    // to take a little from it each time would rewrite the conversation at every step.
    const previous = part.previous.reduce((sum, message) => sum + meter.text(textOf(message)), 0);
    const replacing =
      this.budget.reason !== 'manual' && part.previous.length > 0 && part.fresh === part.covered.length
        ? previous / 2
        : (meter.messages(part.covered) - meter.messages(part.requests.map((r) => r.original))) * 0.6 +
          previous;
    // Where the number of messages is too large, a short summary may be longer than what it replaces.
    const most = isByMessages(this.view, this.budget) ? Math.max(replacing, LEAST_SUMMARY) : replacing;
    const others = this.view.fixedTokens + meter.messages(reassemble(part, [])) + meter.text(appendix ?? '');
    const replaced = [...part.previous, ...part.covered].filter(({ id }) => !requests.has(id));
    const covers = replaced.map(({ id }) => id);
    const count = Math.max(earlier.count, numbered.at(-1)?.at ?? 0);
    return { earlier, requests, numbered, standing, most, others, covers, count };
  });

  /** Tokens of a request with this conversation. */
  total({ tokens }: Candidate): number {
    return this.view.fixedTokens + tokens;
  }

  /** Tokens of the conversation as it is. */
  get before(): number {
    return this.view.tokens - this.view.fixedTokens;
  }

  /** The message as it was before this compaction, without secrets. */
  redactedOriginal(message: Message): Message {
    return redactMessage(this.context.original(message), this.redact);
  }

  /** The conversation with an empty summary of a part. */
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
    const { earlier, requests, numbered, covers, count, standing, most, others } = this.#around(part);
    const written = narrative && { ...narrative, text: this.redact(narrative.text) };
    const told = meter.text(written?.text ?? '');
    // Beside a narrative the record has what that and the newest messages leave of the aim, unless the user named its size.
    // Alone it has its share: readers answered no more from a larger one.
    const spare = this.settings.record === undefined ? this.budget.targetTokens - others - told : 0;
    const wanted = told > 0 ? Math.max(maxRecord * BESIDE_NARRATIVE, spare) : maxRecord;
    const room = maxRecord === 0 ? 0 : Math.min(wanted, most, this.budget.mostTokens - others - told) - FRAME;
    // Secrets go before anything is cut: nothing would recognize half of one.
    const offered = (message: Message) =>
      excerptsOf(message, this.settings.redact === false ? undefined : this.redact);
    if (room > 0) {
      for (const message of this.view.messages) {
        offered(this.context.original(message));
        yield;
      }
    }
    const record =
      room > 0
        ? yield* writeRecord({
            earlier: mapStrings(withFolded(earlier, part, requests), this.redact),
            covered: numbered
              .filter(({ message }) => !earlier.standing.has(message.id))
              .map(({ at, message }) => ({ at, excerpts: offered(this.context.original(message)) })),
            staying: part.tail.map(offered),
            narrative: written?.text,
            standing: new Set(part.requests.map(({ original }) => offered(original))),
            tools: this.context.tools ?? [],
            room,
            meter,
          })
        : [];
    const frame = { appendix, logLocation, recall, covers, count, standing };
    const summary = summaryMessage({ narrative: written, record, ...frame, native });
    const messages = reassemble(part, [summary]);
    const isAsked = part.covered.every(isUserRequest);
    const tells = told > 0 || record.some(({ kind }) => isAsked || kind !== 'asked');
    return { part, messages, tokens: meter.messages(messages), tells };
  }

  /** Tests if the candidate is worth a change of the conversation. */
  savesEnough(candidate: Candidate): boolean {
    // Where the number of messages made it due, an earlier summary written again leaves as many, and is due again at once.
    const { part, messages } = candidate;
    const byNumber = isByMessages(this.view, this.budget);
    const nothingNew = part.previous.length > 0 && part.fresh === part.covered.length;
    if (byNumber && nothingNew && messages.length >= this.view.messages.length) return false;
    if (this.budget.forced && mustShrink(this.view, this.budget)) return candidate.tokens < this.before;
    if (byNumber) return savesMessages(this.view.messages.length, messages.length, this.settings.saving);
    return savesEnough(this.before, candidate.tokens, this.settings.saving);
  }
}

/** The earlier entries, with more of those requests that stood in front of a summary and no longer do. */
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

/** @param gone The fate of a message that stays in no form. */
export function condensed(
  { part, messages, note: yielded }: Candidate,
  gone: Fate['fate'],
  note: string | undefined,
): Reduction {
  const requests = new Map(part.requests.map(({ original, message }) => [original, message]));
  const fates = [
    ...part.previous.map(({ id }): Fate => ({ messageId: id, fate: 'merged' })),
    ...part.covered.flatMap((message): readonly Fate[] => {
      const kept = requests.get(message);
      if (kept === message) return [];
      return [{ messageId: message.id, fate: kept ? 'truncated' : gone }];
    }),
  ];
  const notes = [yielded, note].filter(Boolean).join('; ');
  return { messages, fates, condensed: true, ...(notes ? { note: notes } : {}) };
}
