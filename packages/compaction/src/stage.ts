import type { CompactionReason, Message, MessageFate, Model, Usage } from '@x/core';
import type { Redact } from '@x/core/internal';
import { messageBytes, type ToolDefinition } from '@x/core/messages';
import type { Meter } from './meter.js';
import type { ModelWork } from './summary/narrative-desk.js';

/** A conversation as a stage sees it. */
export interface View {
  readonly messages: readonly Message[];
  /** Tokens of what no stage can change: system prompt, tool definitions, reminders. */
  readonly fixedTokens: number;
  /** Tokens of the whole request. */
  readonly tokens: number;
}

/** The size that the request must come down to, in tokens of the whole request unless named otherwise. */
export interface ReductionTarget {
  readonly reason: CompactionReason;
  /** The window of the model that will read the result. */
  readonly contextWindow: number;
  /** The size at which a reduction is due. Shares of what is kept and of the record refer to it. */
  readonly dueTokens: number;
  /** The size not to exceed: the window less room for the answer. Results that no model has seen stay up to it. */
  readonly mostTokens: number;
  /** The aim of a stage that condenses the older part as a whole, so that reductions are rare. */
  readonly targetTokens: number;
  /** The aim of a cheap stage, below the trigger and at least the target. The cascade stops there. */
  readonly enoughTokens: number;
  /** Bytes of a request at which a reduction is due; `Infinity` if they do not matter. */
  readonly dueBytes: number;
  /** Number of messages at which a reduction is due; `Infinity` if it does not matter. */
  readonly dueMessages: number;
  /** Messages to aim for; `Infinity` when their number does not matter. */
  readonly targetMessages: number;
  /** `true` when a user or an overflow asked for it: worth doing even when it saves little. */
  readonly forced: boolean;
  /** `true` when no main trigger was reached. Only stages with a trigger of their own run, for a large saving. */
  readonly early: boolean;
}

/** What a stage works with, apart from the view. */
export interface StageContext {
  /** The one measure to count with. */
  readonly meter: Meter;
  /** The model that writes summaries; `undefined` when there is none. */
  readonly summarizer?: Model | undefined;
  /** The model that will read the result, where known: for its own compaction endpoint. */
  readonly model?: Model | undefined;
  /** `true` when the summarizer also gets the conversation, with this system prompt and these tools. Its cache holds the beginning. */
  readonly live?: boolean | undefined;
  readonly system?: string | undefined;
  readonly tools?: readonly ToolDefinition[] | undefined;
  /** The caller's wishes for a summary: facts to keep. */
  readonly instructions?: string | undefined;
  /** The id of the last message that a summary replaces. Default: as `keep` says. */
  readonly upTo?: string | undefined;
  /** Text to put word for word behind a summary. */
  readonly appendix?: string | undefined;
  /** The place where messages can be read in full. */
  readonly logLocation?: string | undefined;
  /** Text that tells the model how to recall a message by its number; `undefined` if it cannot. */
  readonly recall?: string | undefined;
  /** Redacts secrets in texts made from messages; `undefined` if redaction is off. */
  readonly redact?: Redact | undefined;
  readonly signal?: AbortSignal | undefined;
  /** For built-in stages that wait for models. */
  readonly work: ModelWork;
  /** The conversation before cheaper stages ran. */
  readonly conversation: readonly Message[];
  /** `true` shortly before a reduction is due: stages that wait for models only begin what they will need. */
  readonly isAhead?: boolean | undefined;
  /** `true` in a dry run: no model may be called. */
  readonly dryRun: boolean;
  /** Finds the message from before this compaction, which cheaper stages may have altered since. */
  original(message: Message): Message;
}

/** The fate of one message. */
export interface Fate {
  readonly messageId: string;
  readonly fate: MessageFate;
}

/** The answer of a stage. */
export interface Reduction {
  /** The new list; the view's own list when nothing changed. */
  readonly messages: readonly Message[];
  /** One entry for each message that was removed or altered. A list that leaves one out is not used. */
  readonly fates: readonly Fate[];
  /** `true` when the older part was condensed as a whole. A trigger on the number of messages is then satisfied. */
  readonly condensed?: boolean;
  /** The reason why nothing changed, or a remark. */
  readonly note?: string;
  /** Why the stage failed. The list must be the view's own. */
  readonly failure?: string;
  /** The cost of model calls. */
  readonly usage?: Usage;
  /** The number of model calls, where `usage` is that of more than one. */
  readonly modelCalls?: number;
  /** `true` when the cost was reported to `StageContext.work` as it was spent. */
  readonly isReported?: boolean;
}

/**
 * A way to make a conversation smaller. It returns a new list and never changes the view. The cascade checks every result. It
 * keeps the old list if a tool call would lose its result, a message would vanish from the manifest, or a pinned message would be
 * removed.
 */
export interface Stage {
  readonly name: string;
  /** `free` makes no model call. A dry run skips other stages, unless `worksInDryRun` is set. */
  readonly cost: 'free' | 'llm';
  /** `true` for a stage that respects `StageContext.dryRun`, so that it may run in a dry run whatever its cost. */
  readonly worksInDryRun?: boolean;
  /** Tests if the stage should run before a main trigger is reached. Default: never. */
  isDueEarly?(view: View, budget: ReductionTarget): boolean;
  /**
   * Begins ahead of time what `reduce` will wait for. Called shortly before a reduction is due, and only if the earlier stages do not
   * suffice. Returns whether anything was begun.
   */
  prepare?(view: View, budget: ReductionTarget, context: StageContext): boolean;
  /**
   * Makes the view smaller.
   *
   * @throws any error: the step is recorded as failed, and the cascade continues with the old list.
   */
  reduce(view: View, budget: ReductionTarget, context: StageContext): Promise<Reduction>;
}

/** Tests if the request exceeds what may be sent: then no saving is too small. */
export function mustShrink(view: View, budget: ReductionTarget): boolean {
  return view.tokens > budget.mostTokens;
}

/** Tests if the request has so many bytes that a reduction is due. */
export function isHeavy({ messages }: Pick<View, 'messages'>, { dueBytes }: ReductionTarget): boolean {
  return dueBytes < Number.POSITIVE_INFINITY && messageBytes(messages) >= dueBytes;
}

/** Tests if only the number of messages makes a reduction due, so that it must save messages. */
export function isByMessages(view: View, budget: ReductionTarget): boolean {
  return budget.reason === 'proactive_budget' && view.tokens < budget.dueTokens;
}

/** Returns the view unchanged, with the reason. */
export function unchanged(view: View, note: string): Reduction {
  return { messages: view.messages, fates: [], note };
}

/** Tests for a message other than system messages. Providers refuse a conversation of these alone. */
export function saysAnything(messages: readonly Message[]): boolean {
  return messages.some((message) => message.role !== 'system');
}
