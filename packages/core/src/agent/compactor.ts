import type { Message } from '../messages/message.js';
import type { ToolDefinition, Usage } from '../model/model.js';
import type { CompactionCost } from './compaction-cost.js';

/** The cause of a compaction: a trigger was reached, the provider refused the request, or a caller asked for it. */
export type CompactionReason = 'proactive_budget' | 'request_too_large' | 'manual';

/**
 * `applied`: the list is smaller. `skipped`: nothing had to be done, or a hook said no. `ineffective`: it could not be
 * made enough smaller. `failed`, `aborted`: the list is the one that was given. `reason` says why.
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
  /** The reason for which the step changed nothing, or a remark. */
  readonly note?: string | undefined;
}

/** A text that stays word for word through every compaction. */
export interface Pin {
  readonly id: string;
  readonly text: string;
  /** The message that it is the text of. */
  readonly messageId?: string | undefined;
  /** The role of that message. Default `user`. The model is told which pins are data of a tool or words of the assistant. */
  readonly role?: Message['role'] | undefined;
}

/** What to pin: the text of a message of the session, or a text of one's own. */
export type PinRequest = { readonly messageId: string } | { readonly text: string };

/** A pin, and where it is. */
export interface PinProof extends Pin {
  /** The id of a message of the conversation that holds the text; left out: none does. */
  readonly heldBy?: string | undefined;
}

/** The outcome of a compaction. */
export interface CompactionOutcome {
  readonly status: CompactionStatus;
  readonly message: string;
  /** The new list; the very array that was given when nothing changed. */
  readonly messages: readonly Message[];
  readonly steps: readonly CompactionStep[];
  /** Tokens of the whole request: system prompt and tools included. */
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  readonly messagesBefore: number;
  readonly messagesAfter: number;
  readonly durationMs: number;
  readonly manifest: readonly ManifestEntry[];
  /** The pins, and where each of them is now; left out when there are none. */
  readonly pins?: readonly PinProof[] | undefined;
  /** Tokens of the model calls that it used, also of those that were made ahead of time; left out when there were none. */
  readonly usage?: Usage | undefined;
  /** The number of these calls. */
  readonly modelCalls?: number | undefined;
}

/** Inputs of a compaction beside the messages. */
export interface CompactOptions {
  /** Default `manual`. `manual` and `request_too_large` reduce whatever the size; `proactive_budget` only when over. */
  readonly reason?: CompactionReason;
  /** Instructions for the summary: facts to keep in particular. */
  readonly instructions?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** The rest of the request, so that it counts. */
  readonly system?: string | undefined;
  readonly tools?: readonly ToolDefinition[] | undefined;
  /** The window of the model that will read the result, in tokens; overrides the compactor's own. */
  readonly contextWindow?: number | undefined;
  /** Tokens that the provider counts for each that is counted here: all numbers are in its tokens then. Default 1. */
  readonly tokenRatio?: number | undefined;
  /** Texts to keep word for word, the most important first. */
  readonly pins?: readonly Pin[] | undefined;
  /** The id of a message: all up to it is condensed, and everything behind it stays. Default: as `keep` says. */
  readonly upTo?: string | undefined;
  /** Text to be carried mechanically behind a summary: todos, the plan's path. */
  readonly appendix?: string | undefined;
  /** Location of the full messages, named in summaries and stubs. */
  readonly logLocation?: string | undefined;
  /** How the model gets a removed message back by its number, in words for the model: summaries and stubs then say so. */
  readonly recall?: string | undefined;
}

/** Reduces a conversation. Pure toward its input: the list that was given is never changed. */
export interface Compactor {
  compact(messages: readonly Message[], options?: CompactOptions): Promise<CompactionOutcome>;
  /** The report that `compact` would give, with nothing called and nothing changed. */
  plan(messages: readonly Message[], options?: CompactOptions): Promise<CompactionOutcome>;
}

/** Something that a model no longer sees as it was. */
export interface GoneItem {
  /** A request of the user, a failure that no later call mended, what the assistant concluded, a file that a call worked on. */
  readonly kind: 'request' | 'error' | 'decision' | 'file';
  /** The running number of the message: the tool `recall` reads it as r12. */
  readonly at: number;
  readonly messageId: string;
  readonly text: string;
  /** What the model still has of it: a part of the message, an excerpt in the record, or nothing. */
  readonly left: 'shortened' | 'record' | 'log';
}

/** What compactions took out of a model's sight, and what they saved and cost. */
export interface Receipt {
  /** Messages of the session, those that the model sees as they were, and the others. */
  readonly all: number;
  readonly seen: number;
  readonly gone: number;
  /** Of a session: over all its calls. Of one compaction: what it removed from the request counts as saved. */
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
