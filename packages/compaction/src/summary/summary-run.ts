import { addUsage, type Message, type Model, textOf, type Usage } from '@x/core';
import type { Redact } from '@x/core/internal';
import { once } from '../conversation/once.js';
import { redactMessage, redactorFor } from '../conversation/redaction.js';
import { isUserRequest, latestUserRequest } from '../conversation/regions.js';
import { errorLine } from '../conversation/text.js';
import { cutLine } from '../record/calls.js';
import type { Entry } from '../record/entry.js';
import { excerptsOf } from '../record/excerpts.js';
import { writeRecord } from '../record/write-record.js';
import {
  type Fate,
  isByMessages,
  mustShrink,
  type ReducerContext,
  type Reduction,
  type ReductionTarget,
  unchanged,
  type View,
} from '../reducer.js';
import { savesEnough, savesMessages } from '../reducers/alter-messages.js';
import { stayingTokens } from '../reducers/cut-unseen.js';
import { recordTokens } from '../run/budget.js';
import { askProvider } from './ask-provider.js';
import { candidateCuts, type Partition, partitionAt, reassemble } from './cut.js';
import { numbersOf } from './numbers.js';
import type { SummarizeOptions } from './options.js';
import {
  type EarlierSummaries,
  readSummaries,
  type SummaryParts,
  summaryMessage,
} from './summary-message.js';
import { type NarrativeTask, writeNarrative } from './write-narrative.js';

/** Below this many tokens no model can write four sections. */
const SHORTEST_NARRATIVE = 150;
/** Where the number of messages is limited, requests in front have this share of what may come until the next reduction. */
const REQUESTS_SHARE = 0.25;
/** The share of a request that may be left where the next reduction is due at once. */
const MOST_LEFT = 0.75;
/** Tokens in which a summary can still tell something. */
const LEAST_SUMMARY = 400;
/** Tokens of what stands around a record: tags, headlines, the legend. */
const FRAME = 120;
/** Beside a narrative the record has this share of its room at least: it holds what the narrative may have left out. */
const BESIDE_NARRATIVE = 0.2;

/** A conversation with its older part replaced. */
interface Candidate {
  readonly part: Partition;
  readonly messages: readonly Message[];
  /** Tokens of the conversation, without system prompt and tools. */
  readonly tokens: number;
  /** Its summary tells something of what it stands for: a frame with nothing in it would lose all of that. */
  readonly tells: boolean;
}

/**
 * One attempt to summarize. Tries to keep what is asked for, then less; with the model first, with the record alone in
 * the end. Nothing that the model writes counts before it was checked, so a failure leaves what was there before.
 */
export class SummaryRun {
  readonly #settings: SummarizeOptions;
  readonly #view: View;
  readonly #budget: ReductionTarget;
  readonly #context: ReducerContext;
  readonly #maxNarrative: number;
  readonly #maxRequests: number;
  readonly #before: number;
  readonly #pinned: ReadonlySet<Message>;
  readonly #redact: Redact;
  /** The running numbers of messages. */
  readonly #numbers: ReadonlyMap<Message, number>;
  #writer: Model | undefined;
  #narrative: string | undefined;
  /** Covered messages that the narrative tells of. */
  #narrated = 0;
  #usage: Usage | undefined;
  #problem: string | undefined;
  /** Says how much less was kept than the user named. */
  #yielded: string | undefined;

  constructor(settings: SummarizeOptions, view: View, budget: ReductionTarget, context: ReducerContext) {
    this.#view = view;
    this.#budget = budget;
    const redact = redactorFor(settings.redact) ?? ((text: string) => text);
    this.#redact = redact;
    this.#numbers = numbersOf(view.messages);
    this.#settings = { ...settings, instructions: settings.instructions && redact(settings.instructions) };
    this.#context = {
      ...context,
      instructions: context.instructions && redact(context.instructions),
      appendix: context.appendix && redact(context.appendix),
    };
    this.#before = view.tokens - view.fixedTokens;
    const latest = view.messages[latestUserRequest(view.messages)];
    const room = Math.max(0, budget.mostTokens - stayingTokens(view, context.meter));
    this.#maxRequests = Math.floor(
      Math.min(
        settings.keep.users * Math.min(budget.contextWindow, budget.dueTokens * 1.2),
        room / 2 + (latest ? context.meter.message(latest) : 0),
      ),
    );
    this.#pinned = new Set(
      view.messages.filter((message) => message.role === 'system' || isUserRequest(message)),
    );
    this.#writer = context.dryRun ? undefined : context.summarizer;
    const window = this.#writer?.contextWindow ?? budget.contextWindow;
    const share = Math.max(budget.enoughTokens / 4, this.#maxRecord() * (1 - BESIDE_NARRATIVE));
    this.#maxNarrative = Math.floor(Math.min(settings.maxTokens, share, window / 4, room / 2));
    if (this.#writer && this.#maxNarrative < SHORTEST_NARRATIVE) {
      this.#writer = undefined;
      this.#problem = 'the window is too small for a written summary';
    }
  }

  /** What a summary of a part has around it, whatever it says: worked out once for each part. */
  readonly #around = once((part: Partition) => {
    const { meter, appendix } = this.#context;
    const earlier = readSummaries(part.previous);
    const requests = new Set(part.requests.map(({ original }) => original.id));
    const numbered: { readonly at: number; readonly message: Message }[] = [];
    const standing = new Map<string, number>();
    for (const message of part.covered) {
      const at = this.#numbers.get(message);
      if (at === undefined) continue;
      numbered.push({ at, message });
      if (requests.has(message.id)) standing.set(message.id, at);
    }
    // Never so much that the summary outgrows what it replaces. An earlier one that is in the way by itself is halved:
    // to take a little from it each time would rewrite the conversation at every step.
    const previous = part.previous.reduce((sum, message) => sum + meter.text(textOf(message)), 0);
    const replacing =
      this.#budget.reason !== 'manual' && part.previous.length > 0 && part.fresh === part.covered.length
        ? previous / 2
        : (meter.messages(part.covered) - meter.messages(part.requests.map((r) => r.original))) * 0.6 +
          previous;
    // Where the number of messages is too large, a short summary may be longer than what it replaces.
    const most = isByMessages(this.#view, this.#budget) ? Math.max(replacing, LEAST_SUMMARY) : replacing;
    const others = this.#view.fixedTokens + meter.messages(reassemble(part, [])) + meter.text(appendix ?? '');
    const replaced = [...part.previous, ...part.covered].filter(({ id }) => !requests.has(id));
    const covers = replaced.map(({ id }) => id);
    const count = Math.max(earlier.count, numbered.at(-1)?.at ?? 0);
    return { earlier, requests, numbered, standing, most, others, covers, count };
  });

  async run(): Promise<Reduction> {
    const withModel = this.#writer !== undefined;
    let candidate = await this.#search();
    if (!candidate && withModel && this.#mayFallBack()) {
      this.#writer = undefined;
      this.#narrated = 0;
      this.#problem ??= 'the written summary was not smaller than what it replaces';
      candidate = await this.#search();
    }
    const usage = this.#usage ? { usage: this.#usage } : {};
    if (!candidate) {
      const problem = this.#problem;
      if (problem && !this.#mayFallBack())
        return { ...unchanged(this.#view, ''), failure: problem, ...usage };
      const note = 'there is nothing older, or too little to be worth a summary';
      return { ...unchanged(this.#view, problem ?? note), ...usage };
    }
    return { ...condensed(candidate, 'summarized', this.#note()), ...usage };
  }

  /**
   * Has the model's provider condense the same messages. The record stands beside what it made, for whoever cannot read that.
   *
   * @throws what the provider throws once retries have failed.
   */
  async runNative(): Promise<Reduction> {
    const { model, system, tools = [], signal, instructions } = this.#context;
    if (!model) return unchanged(this.#view, '');
    const candidate = await this.#search();
    if (!candidate) return unchanged(this.#view, 'there is nothing older, or too little to be worth it');
    const { part } = candidate;
    const covered = this.#view.messages.slice(0, -part.tail.length || undefined);
    const wishes = [this.#settings.instructions, instructions].filter(Boolean).join('\n') || undefined;
    const request = { system, messages: covered, tools, signal, instructions: wishes };
    const { content, usage: spent, note } = await askProvider(model, request, this.#settings.timeoutMs);
    const usage = spent ? { usage: spent } : {};
    if (content.length === 0)
      return { ...unchanged(this.#view, ''), failure: 'the provider returned nothing', ...usage };
    const native = this.#compose(part, this.#narrativeFor(part), this.#maxRecord(), {
      modelId: model.id,
      content,
    });
    if (!this.#savesEnough(native)) {
      return { ...unchanged(this.#view, 'the provider’s compaction saves too little'), ...usage };
    }
    return { ...condensed(native, 'replaced', note), ...usage };
  }

  /** The first cut whose summary fits whatever it comes to, else the one that leaves least. */
  async #search(): Promise<Candidate | undefined> {
    const { meter } = this.#context;
    const { messages } = this.#view;
    const pinned = Math.min(this.#maxRequests, meter.messages(this.#pinned));
    const narrative = this.#writer ? this.#maxNarrative : 0;
    const summary = narrative + this.#maxRecord() * (this.#writer ? BESIDE_NARRATIVE : 1);
    const reserve = summary + pinned;
    const { cuts, floor = messages.length } = candidateCuts(
      this.#view,
      this.#budget,
      this.#settings,
      this.#pinned,
      reserve,
      meter,
    );
    const enough = this.#writer ? this.#budget.dueTokens : this.#budget.enoughTokens;
    let best: Candidate | undefined;
    let silent: Candidate | undefined;
    for (const [index, { start, isFloor }] of cuts.entries()) {
      const part = partitionAt(messages, start, this.#maxRequests, meter, this.#mostRequests());
      if (part.covered.length === 0) {
        // Nothing is to be saved: what is to be kept makes way for its own size alone.
        if (!this.#settings.saving && this.#view.tokens <= enough) break;
        continue;
      }
      const bare = this.#compose(part, undefined, 0);
      if (!this.#savesEnough(bare) || (isFloor && this.#isDueAgain(bare))) continue;
      const limit = isFloor ? this.#budget.mostTokens : enough;
      const most = this.#total(bare) + (isFloor ? LEAST_SUMMARY : summary);
      if (most > limit && index < cuts.length - 1) continue;
      // The summary makes way before what the user named does.
      const room = Math.max(LEAST_SUMMARY, (isFloor ? enough : Infinity) - this.#total(bare));
      await this.#extendNarrative(part, room);
      if (this.#problem && this.#context.summarizer && !this.#writer && !this.#mayFallBack()) return best;
      const candidate = this.#compose(part, this.#narrativeFor(part), Math.min(room, this.#maxRecord()));
      if (!this.#savesEnough(candidate)) continue;
      if (!candidate.tells) {
        // Nothing is lost for nothing; where the window is full, less is said rather than nothing at all be possible.
        if (this.#view.tokens > this.#budget.dueTokens && candidate.tokens < (silent?.tokens ?? this.#before))
          silent = candidate;
        continue;
      }
      const wanted = messages.length - floor;
      const kept = part.tail.length;
      this.#yielded =
        kept < wanted
          ? `kept the newest ${kept} of ${wanted} messages that keep names: more would exceed the ${this.#budget.mostTokens} tokens that may be sent`
          : undefined;
      if (this.#total(candidate) <= limit) return candidate;
      if (!best || candidate.tokens < best.tokens) best = candidate;
    }
    return best ?? silent;
  }

  /** Tests if what the user named leaves so much that the next reduction is due at once: then more must go than one step adds. */
  #isDueAgain(bare: Candidate): boolean {
    const { reason, dueTokens } = this.#budget;
    const left = this.#total(bare) + LEAST_SUMMARY;
    const isWanted = this.#settings.saving === false || reason !== 'proactive_budget';
    if (isWanted || mustShrink(this.#view, this.#budget) || left <= dueTokens) return false;
    return left > this.#view.tokens * MOST_LEFT;
  }

  /** How many requests may stay in front of the summary, so that they do not reach a trigger that counts messages again. */
  #mostRequests(): number {
    const { dueMessages, targetMessages } = this.#budget;
    const { messages: kept } = this.#settings.keep;
    if (kept === undefined) return targetMessages / 2;
    return Math.max(1, Math.floor((dueMessages - kept - 1) * REQUESTS_SHARE));
  }

  #total(candidate: Candidate): number {
    return this.#view.fixedTokens + candidate.tokens;
  }

  /** Has the model take in what the narrative does not cover yet; without success there is no model any more. */
  async #extendNarrative(part: Partition, room: number): Promise<void> {
    const model = this.#writer;
    const maxTokens = Math.floor(Math.min(this.#maxNarrative, room));
    if (!model || maxTokens < SHORTEST_NARRATIVE) return;
    const { meter, instructions, appendix, signal } = this.#context;
    try {
      const fresh = part.covered.slice(Math.max(this.#narrated, part.previous.length > 0 ? part.fresh : 0));
      const result = await writeNarrative({
        model,
        window: model.contextWindow ?? this.#budget.contextWindow,
        options: this.#settings,
        meter,
        maxTokens,
        previous: this.#toldBefore(part),
        messages: fresh.map((message) => this.#redactedOriginal(message)),
        live: this.#livePrefix(part, model),
        requests: this.#view.messages.filter(isUserRequest).map((message) => this.#redactedOriginal(message)),
        laterRequests: part.tail.filter(isUserRequest).length,
        instructions,
        appendix,
        signal,
        redact: this.#redact,
        onUsage: (usage) => {
          this.#usage = this.#usage ? addUsage(this.#usage, usage) : usage;
        },
      });
      if (result.ok) {
        this.#narrative = result.text;
        this.#narrated = part.covered.length;
        return;
      }
      this.#problem = result.problem;
    } catch (error) {
      signal?.throwIfAborted();
      this.#problem = errorLine(error);
    }
    this.#writer = undefined;
  }

  /** The prefix that the agent's own model was sent up to the cut, unless it cannot be sent again. */
  #livePrefix(part: Partition, model: Model): NarrativeTask['live'] {
    const { live, model: reader, system, tools = [] } = this.#context;
    if (!live || model !== reader || this.#budget.reason === 'request_too_large') return undefined;
    const { messages } = this.#view;
    const prefix = messages.slice(0, messages.length - part.tail.length);
    // Thoughts of another model are not sent to this one.
    if (prefix.some(({ metadata }) => metadata?.modelId !== undefined && metadata.modelId !== model.id)) {
      return undefined;
    }
    return { system, tools, messages: prefix.map((message) => this.#context.original(message)) };
  }

  #narrativeFor(part: Partition): string | undefined {
    if (this.#narrated > 0) return this.#narrative;
    const { narrative } = readSummaries(part.previous);
    return narrative && this.#redact(narrative);
  }

  /** What the writer updates: a record that no narrative stands beside, too, for less of it stays beside what is written. */
  #toldBefore(part: Partition): string | undefined {
    if (this.#narrated > 0) return this.#narrative;
    const { told } = readSummaries(part.previous);
    return told && this.#redact(told);
  }

  #compose(
    part: Partition,
    narrative: string | undefined,
    maxRecord: number,
    native?: SummaryParts['native'],
  ): Candidate {
    const { meter, appendix, logLocation, recall } = this.#context;
    const { earlier, requests, numbered, covers, count, standing, most, others } = this.#around(part);
    const told = meter.text(narrative ?? '');
    // Beside a narrative the record has what that and the newest messages leave of the aim, unless the user named its size.
    // Alone it has its share: readers answered no more from a larger one.
    const spare = this.#settings.record === undefined ? this.#budget.targetTokens - others - told : 0;
    const wanted = told > 0 ? Math.max(maxRecord * BESIDE_NARRATIVE, spare) : maxRecord;
    const room =
      maxRecord === 0 ? 0 : Math.min(wanted, most, this.#budget.mostTokens - others - told) - FRAME;
    // Secrets go before anything is cut: nothing would recognize half of one.
    const offered = (message: Message) =>
      excerptsOf(message, this.#settings.redact === false ? undefined : this.#redact);
    const record =
      room > 0
        ? writeRecord({
            earlier: withFolded(earlier, part, requests, this.#redact).map((entry) => ({
              ...entry,
              text: this.#redact(entry.text),
            })),
            covered: numbered
              .filter(({ message }) => !earlier.standing.has(message.id))
              .map(({ at, message }) => ({ at, excerpts: offered(this.#context.original(message)) })),
            staying: part.tail.map(offered),
            narrative,
            standing: new Set(part.requests.map(({ original }) => offered(original))),
            tools: this.#context.tools ?? [],
            room,
            meter,
          })
        : [];
    const frame = { appendix, logLocation, recall, covers, count, standing };
    const summary = summaryMessage({ narrative, record, ...frame, native });
    const messages = reassemble(part, [summary]);
    const isAsked = part.covered.every(isUserRequest);
    const tells = told > 0 || record.some(({ kind }) => isAsked || kind !== 'asked');
    return { part, messages, tokens: meter.messages(messages), tells };
  }

  /** The message as it was before this compaction, without secrets. */
  #redactedOriginal(message: Message): Message {
    return redactMessage(this.#context.original(message), this.#redact);
  }

  #savesEnough(candidate: Candidate): boolean {
    // Where the number of messages made it due, an earlier summary written anew leaves as many, and is due again at once.
    const { part, messages } = candidate;
    const byNumber = isByMessages(this.#view, this.#budget);
    const nothingNew = part.previous.length > 0 && part.fresh === part.covered.length;
    if (byNumber && nothingNew && messages.length >= this.#view.messages.length) return false;
    if (this.#budget.forced && mustShrink(this.#view, this.#budget)) return candidate.tokens < this.#before;
    if (byNumber) return savesMessages(this.#view.messages.length, messages.length, this.#settings.saving);
    return savesEnough(this.#before, candidate.tokens, this.#settings.saving);
  }

  #maxRecord(): number {
    return recordTokens(this.#settings.record, this.#budget.dueTokens);
  }

  #mayFallBack(): boolean {
    return this.#settings.fallback === 'record';
  }

  #note(): string | undefined {
    if (this.#context.dryRun && this.#context.summarizer)
      return 'planned with the record alone; a model would write more';
    const problem = this.#problem && `the record stands in for the model: ${this.#problem}`;
    return [this.#yielded, problem].filter(Boolean).join('; ') || undefined;
  }
}

/** The earlier entries, with more of those requests that stood in front of a summary and no longer do. */
function withFolded(
  earlier: EarlierSummaries,
  part: Partition,
  requests: ReadonlySet<string>,
  redact: Redact,
): readonly Entry[] {
  const folded = new Map<number, string>();
  for (const message of part.covered) {
    const at = earlier.standing.get(message.id);
    if (at !== undefined && !requests.has(message.id)) folded.set(at, redact(textOf(message)));
  }
  if (folded.size === 0) return earlier.record;
  return earlier.record.map((entry) => {
    const text = entry.kind === 'asked' ? folded.get(entry.at) : undefined;
    return text === undefined ? entry : { ...entry, text: cutLine(text, 400) };
  });
}

/** @param gone The fate of a message that stays in no form. */
function condensed({ part, messages }: Candidate, gone: Fate['fate'], note: string | undefined): Reduction {
  const requests = new Map(part.requests.map(({ original, message }) => [original, message]));
  const fates = [
    ...part.previous.map(({ id }): Fate => ({ messageId: id, fate: 'merged' })),
    ...part.covered.flatMap((message): readonly Fate[] => {
      const kept = requests.get(message);
      if (kept === message) return [];
      return [{ messageId: message.id, fate: kept ? 'truncated' : gone }];
    }),
  ];
  return { messages, fates, condensed: true, ...(note ? { note } : {}) };
}
