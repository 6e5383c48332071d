import type { Message } from '../messages/message.js';
import type { ToolDefinition, Usage } from '../model/model.js';
import type { CompactionCost } from './compaction-cost.js';

/** The cause of a compaction: a trigger was reached, the provider refused the request, or a caller asked for it. */
export type CompactionReason = 'proactive_budget' | 'request_too_large' | 'manual';

/**
 * `applied`: the list is smaller. `skipped`: nothing was due, or a hook said no. `ineffective`: a compaction would save too
 * little. `failed`, `aborted`: the list is unchanged. `message` says why.
 */
export type CompactionStatus = 'applied' | 'skipped' | 'ineffective' | 'failed' | 'aborted';

/** The fate of a message. Every removed or altered message has one entry in the manifest. */
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

/** The fate of one message in a compaction. */
export interface ManifestEntry {
  readonly messageId: string;
  readonly fate: MessageFate;
  /** The stage that did it. */
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
  /** Why the step changed nothing, or a remark. */
  readonly note?: string | undefined;
}

/** A text that stays word for word through every compaction. */
export interface Pin {
  readonly id: string;
  readonly text: string;
  /** The message whose text it is. */
  readonly messageId?: string | undefined;
  /** The role of that message. Default `user`. The model is told which pins are data of a tool or words of the assistant. */
  readonly role?: Message['role'] | undefined;
}

/** What to pin: the text of a message of the session, or your own text. */
export type PinRequest = { readonly messageId: string } | { readonly text: string };

/** A pin, and where it is. */
export interface PinProof extends Pin {
  /** The id of the message that contains the text; left out if none does. */
  readonly heldBy?: string | undefined;
}

/** The outcome of a compaction. */
export interface CompactionOutcome {
  readonly status: CompactionStatus;
  readonly message: string;
  /** The new list; the same array if nothing changed. */
  readonly messages: readonly Message[];
  readonly steps: readonly CompactionStep[];
  /** Tokens of the whole request, including system prompt and tools. */
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  readonly messagesBefore: number;
  readonly messagesAfter: number;
  readonly durationMs: number;
  readonly manifest: readonly ManifestEntry[];
  /** The pins, and where each of them is now; left out if there are none. */
  readonly pins?: readonly PinProof[] | undefined;
  /** Tokens of the model calls that it used, including calls made ahead of time; left out if there were none. */
  readonly usage?: Usage | undefined;
  /** The number of these calls. */
  readonly modelCalls?: number | undefined;
}

/** Inputs of a compaction beside the messages. */
export interface CompactOptions {
  /** Default `manual`. `manual` and `request_too_large` reduce whatever the size; `proactive_budget` only when over. */
  readonly reason?: CompactionReason;
  /** Instructions for the summary, for example facts to keep. */
  readonly instructions?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** The rest of the request, so that it counts. */
  readonly system?: string | undefined;
  readonly tools?: readonly ToolDefinition[] | undefined;
  /** The window of the model that will read the result, in tokens; overrides the compactor's own. */
  readonly contextWindow?: number | undefined;
  /** The provider's tokens for each token of our counter. All numbers are then in the provider's tokens. Default 1. */
  readonly tokenRatio?: number | undefined;
  /** Texts to keep word for word, the most important first. */
  readonly pins?: readonly Pin[] | undefined;
  /** Compacts everything up to the message with this id, and keeps the rest. Default: `keep` decides. */
  readonly upTo?: string | undefined;
  /** Text to append to a summary unchanged: todos, the plan's path. */
  readonly appendix?: string | undefined;
  /** Where the full messages are. Summaries and stubs name it. */
  readonly logLocation?: string | undefined;
  /** Tells the model how to read a removed message by its number. Summaries and stubs repeat it. */
  readonly recall?: string | undefined;
}

/** Reduces a conversation. It never changes the list that you pass. */
export interface Compactor {
  compact(messages: readonly Message[], options?: CompactOptions): Promise<CompactionOutcome>;
  /** Returns what `compact` would report, without calling a model or changing anything. */
  plan(messages: readonly Message[], options?: CompactOptions): Promise<CompactionOutcome>;
}

/** Something that a model no longer sees as it was. */
export interface GoneItem {
  /** A request of the user, an error that no later call fixed, a conclusion of the assistant, a file that a call worked on. */
  readonly kind: 'request' | 'error' | 'decision' | 'file';
  /** The number of the message, which `recall` accepts as r12. */
  readonly at: number;
  readonly messageId: string;
  readonly text: string;
  /** What the model still sees: a part of the message, an excerpt in the record, or nothing. */
  readonly left: 'shortened' | 'record' | 'log';
}

/** What compactions removed from a model's view, and what they saved and cost. */
export interface Receipt {
  /** All messages of the session, those that the model sees unchanged, and the others. */
  readonly all: number;
  readonly seen: number;
  readonly gone: number;
  /** Of a session: the sum of all its calls. Of one compaction: what it removed from the request counts as saved. */
  readonly cost: CompactionCost;
  readonly logLocation?: string | undefined;
  /** How many items of each kind are gone. Kinds of which none is are left out. */
  readonly found: Readonly<Partial<Record<GoneItem['kind'], number>>>;
  /** What matters most first, of each kind the newest ten. */
  readonly items: readonly GoneItem[];
  readonly pins: readonly PinProof[];
  /** The same in words. */
  readonly markdown: string;
}
