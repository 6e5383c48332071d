import { addUsage, type Message, type Model, type Redact, type Usage } from '@x/core';
import type { SummarizeOptions } from '../config/stage-schemas.js';
import { redactLedger, redactMessage, redactorFor } from '../conversation/redaction.js';
import { firstUserRequest } from '../conversation/regions.js';
import { describe } from '../conversation/text.js';
import { foldLedger } from '../ledger/fold-ledger.js';
import { emptyLedger, type Ledger } from '../ledger/ledger.js';
import { FIRST_REQUEST_SHARE, renderLedger } from '../ledger/render-ledger.js';
import {
  type Fate,
  type ReducerContext,
  type Reduction,
  type ReductionTarget,
  unchanged,
  type View,
} from '../reducer.js';
import { savesEnough } from '../reducers/alter-messages.js';
import { candidateCuts } from './candidate-cuts.js';
import { type Partition, partitionAt, pinnedIn, reassemble } from './partition.js';
import { readSummaries, summaryMessage } from './summary-message.js';
import { writeNarrative } from './write-narrative.js';

/** Below this many tokens no model can write four sections. */
const SHORTEST_NARRATIVE = 150;

/** Tokens of what stands around a ledger: tags, a headline, where the log is. */
const FRAME = 40;

/** The share of the budget that the first request may take to stay verbatim. */
const MOST_ANCHORED = 0.1;

const asItIs: Redact = (text) => text;

/** A conversation with its older part replaced. */
interface Candidate {
  readonly part: Partition;
  readonly messages: readonly Message[];
  /** Of the conversation, without system prompt and tools. */
  readonly tokens: number;
}

/**
 * One attempt to summarize. Tries to keep what is asked for, then less; with the model first, with the ledger alone in
 * the end. Nothing that the model writes counts before it was checked, so a failure leaves what was there before.
 */
export class SummaryRun {
  readonly #settings: SummarizeOptions;
  readonly #view: View;
  readonly #budget: ReductionTarget;
  readonly #context: ReducerContext;
  readonly #maxNarrative: number;
  readonly #before: number;
  readonly #anchor: Message | undefined;
  readonly #pinned: ReadonlySet<Message>;
  readonly #redact: Redact;
  /** The ledger of so many covered messages: of further cuts only what they add is folded in. */
  #folded: { readonly ledger: Ledger; readonly previous: number; readonly covered: number } | undefined;
  #writer: Model | undefined;
  #narrative: string | undefined;
  /** Covered messages that the narrative knows of. */
  #told = 0;
  #usage: Usage | undefined;
  #problem: string | undefined;

  constructor(settings: SummarizeOptions, view: View, budget: ReductionTarget, context: ReducerContext) {
    this.#view = view;
    this.#budget = budget;
    const redact = redactorFor(settings.redact) ?? asItIs;
    this.#redact = redact;
    this.#settings = { ...settings, instructions: settings.instructions && redact(settings.instructions) };
    this.#context = {
      ...context,
      instructions: context.instructions && redact(context.instructions),
      appendix: context.appendix && redact(context.appendix),
    };
    this.#before = view.tokens - view.fixedTokens;
    this.#anchor = this.#findAnchor();
    this.#pinned = pinnedIn(view.messages, this.#anchor);
    this.#writer = context.dryRun ? undefined : context.summarizer;
    const window = this.#writer?.contextWindow ?? budget.contextWindow;
    this.#maxNarrative = Math.floor(Math.min(settings.maxSummaryTokens, budget.targetTokens / 4, window / 4));
    if (this.#writer && this.#maxNarrative < SHORTEST_NARRATIVE) {
      this.#writer = undefined;
      this.#problem = 'the window is too small for a written summary';
    }
  }

  async run(): Promise<Reduction> {
    const withModel = this.#writer !== undefined;
    let candidate = await this.#search();
    if (!candidate && withModel && this.#mayFallBack()) {
      this.#writer = undefined;
      this.#told = 0;
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
    const note = this.#note();
    return {
      messages: candidate.messages,
      fates: fatesOf(candidate.part),
      condensed: true,
      ...usage,
      ...(note ? { note } : {}),
    };
  }

  /** The first candidate that fits, else the smallest that saves enough. */
  async #search(): Promise<Candidate | undefined> {
    const { meter } = this.#context;
    const reserve = (this.#writer ? this.#maxNarrative : 0) + this.#mostLedger();
    let best: Candidate | undefined;
    for (const cut of candidateCuts(this.#view, this.#budget, this.#settings, this.#pinned, reserve, meter)) {
      if (cut.lastResort && best && this.#total(best) <= this.#budget.limitTokens) break;
      const part = partitionAt(this.#view.messages, cut.index, this.#pinned);
      if (part.covered.length === 0 || !this.#savesEnough(this.#compose(part, undefined, 0))) continue;
      await this.#tell(part);
      if (this.#problem && this.#context.summarizer && !this.#writer && !this.#mayFallBack()) return best;
      const candidate = this.#compose(part, this.#narrativeFor(part), this.#mostLedger());
      if (!this.#savesEnough(candidate)) continue;
      const enough = this.#writer ? this.#budget.limitTokens : this.#budget.targetTokens;
      if (this.#total(candidate) <= enough) return candidate;
      if (!best || candidate.tokens < best.tokens) best = candidate;
    }
    return best;
  }

  #total(candidate: Candidate): number {
    return this.#view.fixedTokens + candidate.tokens;
  }

  /** Has the model take in what the narrative does not cover yet; without success there is no model any more. */
  async #tell(part: Partition): Promise<void> {
    const model = this.#writer;
    if (!model) return;
    const { meter, instructions, appendix, signal } = this.#context;
    try {
      const result = await writeNarrative({
        model,
        window: model.contextWindow ?? this.#budget.contextWindow,
        options: this.#settings,
        meter,
        maxTokens: this.#maxNarrative,
        previous: this.#narrativeFor(part),
        messages: part.covered.slice(this.#told).map((message) => this.#source(message)),
        instructions,
        appendix,
        signal,
        redact: this.#redact,
      });
      if (result.usage) this.#usage = this.#usage ? addUsage(this.#usage, result.usage) : result.usage;
      if (result.ok) {
        this.#narrative = result.text;
        this.#told = part.covered.length;
        return;
      }
      this.#problem = result.problem;
    } catch (error) {
      signal?.throwIfAborted();
      this.#problem = describe(error);
    }
    this.#writer = undefined;
  }

  #narrativeFor(part: Partition): string | undefined {
    if (this.#told > 0) return this.#narrative;
    const { narrative } = readSummaries(part.previous);
    return narrative && this.#redact(narrative);
  }

  #compose(part: Partition, narrative: string | undefined, mostLedger: number): Candidate {
    const { meter, appendix, logLocation } = this.#context;
    const ledger = mostLedger > 0 ? this.#fold(part) : emptyLedger;
    // Never so much that the summary outgrows what it replaces.
    const room = Math.min(mostLedger, meter.messages(part.covered) / 4 + meter.messages(part.previous));
    const summary = summaryMessage({
      narrative,
      ledger,
      ledgerText: renderLedger(ledger, Math.max(0, room - FRAME), meter, !this.#anchor),
      appendix,
      logLocation,
      covers: [...part.previous, ...part.covered].map((message) => message.id),
    });
    const messages = reassemble(part, [summary]);
    return { part, messages, tokens: meter.messages(messages) };
  }

  #fold(part: Partition): Ledger {
    const known = this.#folded?.previous === part.previous.length ? this.#folded : undefined;
    if (known?.covered === part.covered.length) return known.ledger;
    const earlier = known ? [known.ledger] : readSummaries(part.previous).ledgers;
    const added = part.covered.slice(known?.covered).map((message) => this.#context.original(message));
    const ledger = redactLedger(foldLedger(earlier, added, this.#redact), this.#redact);
    this.#folded = { ledger, previous: part.previous.length, covered: part.covered.length };
    return ledger;
  }

  /** The message as it was before this compaction, without secrets. */
  #source(message: Message): Message {
    return redactMessage(this.#context.original(message), this.#redact);
  }

  #savesEnough(candidate: Candidate): boolean {
    return savesEnough(this.#before, candidate.tokens, this.#settings);
  }

  #mostLedger(): number {
    return Math.min(this.#settings.ledgerTokens, this.#budget.targetTokens / 4);
  }

  /** The first request, where the ledger could quote it only in part and it is no burden: it stays as a message. */
  #findAnchor(): Message | undefined {
    const first = this.#view.messages[firstUserRequest(this.#view.messages)];
    if (!first) return undefined;
    const tokens = this.#context.meter.message(first);
    const quoted = this.#mostLedger() * FIRST_REQUEST_SHARE;
    return tokens > quoted && tokens <= this.#budget.targetTokens * MOST_ANCHORED ? first : undefined;
  }

  #mayFallBack(): boolean {
    return this.#settings.fallback === 'ledger';
  }

  #note(): string | undefined {
    if (this.#context.dryRun && this.#context.summarizer)
      return 'planned with the ledger alone; a model would write more';
    return this.#problem ? `the ledger stands in for the model: ${this.#problem}` : undefined;
  }
}

function fatesOf(part: Partition): readonly Fate[] {
  return [
    ...part.previous.map(({ id }): Fate => ({ messageId: id, fate: 'merged' })),
    ...part.covered.map(({ id }): Fate => ({ messageId: id, fate: 'summarized' })),
  ];
}
