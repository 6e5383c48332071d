import type { Message } from '../messages/message.js';
import type { ToolDefinition, Usage } from '../model/model.js';
import type { CompactionCost } from './compaction-cost.js';

/** The cause of a compaction: a trigger was reached, the provider rejected the request, or a caller requested it. */
export type CompactionReason = 'proactive_budget' | 'request_too_large' | 'manual';

/**
 * `applied`: the list of messages was changed, usually made smaller. `skipped`: no compaction was due or worthwhile, or a hook prevented
 * it. `ineffective`: a compaction would save too little. With every status except `applied`, the list is unchanged. `message` says why.
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
  /** The reason why the step changed nothing, or another note. */
  readonly note?: string | undefined;
  /** The author of the summary: `rules` if no text of a model was used. `undefined` for a step without a summary. */
  readonly author?: 'model' | 'provider' | 'rules' | undefined;
}

/** A text that every compaction keeps word for word. */
export interface Pin {
  readonly id: string;
  readonly text: string;
  /** The message that contains the text. */
  readonly messageId?: string | undefined;
  /** The role of that message. Default `user`. The conversation marks pins from a tool or from the assistant as such. */
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
  /** Explains the outcome, for people. */
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
  /** Tokens of the model calls, including calls made ahead of time; `undefined` if there were none. */
  readonly usage?: Usage | undefined;
  /** Number of the model calls, including calls made ahead of time. */
  readonly modelCalls?: number | undefined;
}

/** Options of a compaction. */
export interface CompactOptions {
  /** Default `manual`. `proactive_budget` compacts only if a trigger is reached. `manual` and `request_too_large` need no trigger. */
  readonly reason?: CompactionReason;
  /** Instructions for the summary, for example facts to keep. */
  readonly instructions?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** System prompt of the request that will contain the messages. Its tokens count. */
  readonly system?: string | undefined;
  /** Tools of that request. Their tokens count. */
  readonly tools?: readonly ToolDefinition[] | undefined;
  /** The context window of the model that reads the result, in tokens. Overrides the compactor's option. */
  readonly contextWindow?: number | undefined;
  /** Provider tokens per token of the local counter. If set, all token counts are in provider tokens. Default 1. */
  readonly tokenRatio?: number | undefined;
  /** Texts to keep word for word, most important first. */
  readonly pins?: readonly Pin[] | undefined;
  /** Compacts everything up to the message with this id, and keeps the rest. Default: the option `keep` determines what stays. */
  readonly upTo?: string | undefined;
  /** Text to append to a summary unchanged, such as todos or the path of the plan. */
  readonly appendix?: string | undefined;
  /** The location of the log with the complete messages. Summaries and stubs mention it. */
  readonly logLocation?: string | undefined;
  /** Tells the model how to read a removed message by its number. Summaries and stubs include it. */
  readonly recall?: string | undefined;
  /** `true` if the caller cannot send items that only one provider reads. A provider's own compaction is then not used. */
  readonly textOnly?: boolean | undefined;
  /**
   * Receives the usage of each model call when the call ends. This includes calls that end after the compaction and calls whose answer is
   * not used. `CompactionOutcome.usage` can count the same calls, so add up only one of the two.
   */
  readonly onUsage?: ((usage: Usage) => void) | undefined;
}

/** Compacts a conversation. It never changes the list that you pass. */
export interface Compactor {
  compact(messages: readonly Message[], options?: CompactOptions): Promise<CompactionOutcome>;
  /** Returns the outcome that `compact` would have. Calls no model and changes nothing. */
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

/** The items that compactions removed from the model's view, and the cost and savings of the compactions. */
export interface Receipt {
  /** Number of all messages of the session. */
  readonly all: number;
  /** Number of the messages that the model sees unchanged. */
  readonly seen: number;
  /** Number of the messages that the model no longer sees, or sees shortened. */
  readonly gone: number;
  /** For a session, the sum over all its calls. For one compaction, `savedTokens` is the number of tokens removed from the request. */
  readonly cost: CompactionCost;
  readonly logLocation?: string | undefined;
  /** Number of removed items per kind. Kinds without items are omitted. */
  readonly found: Readonly<Partial<Record<GoneItem['kind'], number>>>;
  /** The removed items, most important first. At most the newest ten of each kind. */
  readonly items: readonly GoneItem[];
  readonly pins: readonly PinProof[];
  /** The receipt as Markdown. */
  readonly markdown: string;
}
