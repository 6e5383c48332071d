import type { Message } from '../messages/message.js';
import type { ToolDefinition, Usage } from '../model/model.js';
import type { CompactionCost } from './compaction-cost.js';

/** The cause of a compaction: a trigger was reached, the provider rejected the request, or a caller requested it. */
export type CompactionReason = 'proactive_budget' | 'request_too_large' | 'manual';

/**
 * `applied`: the list is smaller. `skipped`: no compaction was due, or a hook prevented it. `ineffective`: a compaction would save too
 * little. `failed`, `aborted`: the list is unchanged. `message` gives the reason.
 */
export type CompactionStatus = 'applied' | 'skipped' | 'ineffective' | 'failed' | 'aborted';

/** What happened to a message. The manifest has one entry for every removed or altered message. */
export type MessageFate =
  | 'summarized'
  | 'merged'
  | 'masked'
  | 'truncated'
  | 'previewed'
  | 'trimmed'
  | 'replaced'
  | 'repaired'
  | 'pinned'
  | 'dropped';

/** What happened to one message in a compaction. */
export interface ManifestEntry {
  readonly messageId: string;
  readonly fate: MessageFate;
  /** The stage that removed or altered it. */
  readonly stage: string;
}

/** One stage's run. */
export interface CompactionStep {
  readonly stage: string;
  readonly messagesBefore: number;
  readonly messagesAfter: number;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  readonly durationMs: number;
  /** Why the step changed nothing, or another note. */
  readonly note?: string | undefined;
  /** Who wrote the summary of this step: `rules` if no model's text was used. `undefined` for a step without a summary. */
  readonly author?: 'model' | 'provider' | 'rules' | undefined;
}

/** A text that every compaction keeps word for word. */
export interface Pin {
  readonly id: string;
  readonly text: string;
  /** The message that contains the text. */
  readonly messageId?: string | undefined;
  /** The role of that message. Default `user`. The model is told which pins come from a tool or from the assistant. */
  readonly role?: Message['role'] | undefined;
}

/** What to pin: the text of a message of the session, or your own text. */
export type PinRequest = { readonly messageId: string } | { readonly text: string };

/** A pin, and its current location. */
export interface PinProof extends Pin {
  /** The id of the message that contains the text; `undefined` if none does. */
  readonly heldBy?: string | undefined;
}

/** The outcome of a compaction. */
export interface CompactionOutcome {
  readonly status: CompactionStatus;
  /** A sentence that explains the outcome. */
  readonly message: string;
  /** The new list, or the same array if nothing changed. */
  readonly messages: readonly Message[];
  readonly steps: readonly CompactionStep[];
  /** Tokens of the whole request, including system prompt and tools. */
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  readonly messagesBefore: number;
  readonly messagesAfter: number;
  readonly durationMs: number;
  /** One entry for every message that was removed or altered. */
  readonly manifest: readonly ManifestEntry[];
  /** The pins and their current locations; `undefined` if there are none. */
  readonly pins?: readonly PinProof[] | undefined;
  /** Tokens of its model calls, including calls made ahead of time; `undefined` if there were none. */
  readonly usage?: Usage | undefined;
  /** Number of these calls. */
  readonly modelCalls?: number | undefined;
}

/** Options of a compaction. */
export interface CompactOptions {
  /** Default `manual`. `manual` and `request_too_large` compact at any size, `proactive_budget` only above a trigger. */
  readonly reason?: CompactionReason;
  /** Instructions for the summary, for example facts to keep. */
  readonly instructions?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** The rest of the request, so that it is counted. */
  readonly system?: string | undefined;
  readonly tools?: readonly ToolDefinition[] | undefined;
  /** The context window of the model that reads the result, in tokens. Overrides the compactor's own. */
  readonly contextWindow?: number | undefined;
  /** Provider tokens per token of our counter. All numbers are then provider tokens. Default 1. */
  readonly tokenRatio?: number | undefined;
  /** Texts to keep word for word, most important first. */
  readonly pins?: readonly Pin[] | undefined;
  /** Compacts everything up to the message with this id, and keeps the rest. Default: `keep` decides. */
  readonly upTo?: string | undefined;
  /** Text to append to a summary unchanged, such as todos or the path of the plan. */
  readonly appendix?: string | undefined;
  /** The location of the complete messages. Summaries and stubs mention it. */
  readonly logLocation?: string | undefined;
  /** Tells the model how to read a removed message by its number. Summaries and stubs include it. */
  readonly recall?: string | undefined;
  /** `true` if the caller cannot send items that only one provider reads: a provider's own compaction is then not used. */
  readonly textOnly?: boolean | undefined;
}

/** Compacts a conversation. It never changes the list that you pass. */
export interface Compactor {
  compact(messages: readonly Message[], options?: CompactOptions): Promise<CompactionOutcome>;
  /** Returns what `compact` would report, without calling a model or changing anything. */
  plan(messages: readonly Message[], options?: CompactOptions): Promise<CompactionOutcome>;
}

/** An item that a model no longer sees unchanged. */
export interface GoneItem {
  /** A user request, an error that no later call fixed, a conclusion of the assistant, or a file that a call used. */
  readonly kind: 'request' | 'error' | 'decision' | 'file';
  /** The number of the message. `recall` accepts it as r12. */
  readonly at: number;
  readonly messageId: string;
  readonly text: string;
  /** What the model still sees: a part of the message, an excerpt in the record, or nothing. */
  readonly left: 'shortened' | 'record' | 'log';
}

/** What compactions removed from the model's view, and what they cost and saved. */
export interface Receipt {
  /** The number of all messages of the session, of those that the model sees unchanged, and of the others. */
  readonly all: number;
  readonly seen: number;
  readonly gone: number;
  /** For a session, the sum over all its calls. For one compaction, the tokens removed from the request count as saved. */
  readonly cost: CompactionCost;
  readonly logLocation?: string | undefined;
  /** Number of removed items per kind. Kinds without items are omitted. */
  readonly found: Readonly<Partial<Record<GoneItem['kind'], number>>>;
  /** Most important first; per kind, the newest ten. */
  readonly items: readonly GoneItem[];
  readonly pins: readonly PinProof[];
  /** The same as text. */
  readonly markdown: string;
}
