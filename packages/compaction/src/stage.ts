import type { CompactionReason, CompactionStep, Message, MessageFate, Model, Usage } from '@x/core';
import { holdsFile, type Redact } from '@x/core/internal';
import { messageBytes, type ToolDefinition } from '@x/core/messages';
import type { Meter } from './meter.js';
import type { ModelWork } from './summary/narrative-desk.js';

/** A conversation as a stage sees it. */
export interface View {
  readonly messages: readonly Message[];
  /** Tokens of the parts that no stage can change: system prompt, tool definitions, reminders. */
  readonly fixedTokens: number;
  /** Tokens of the whole request. */
  readonly tokens: number;
}

/**
 * The size that a reduction aims for. A reduction is one compaction: a cascade of stages that run in order. Tokens are those of the whole
 * request.
 */
export interface ReductionTarget {
  readonly reason: CompactionReason;
  /** The window of the model that will read the result. */
  readonly contextWindow: number;
  /** The size at which a reduction is due (the trigger point). `keep.share` and `summary.record` are shares of it. */
  readonly dueTokens: number;
  /**
   * The maximum size of a request: the window less room for the answer, or less after an overflow of unknown size. Tool results that no
   * model has seen are cut only if the request would exceed it.
   */
  readonly mostTokens: number;
  /** The target of a stage that condenses the older part as a whole. It is low, so that reductions are rare. */
  readonly targetTokens: number;
  /** The target of a cheap stage: between `targetTokens` and `dueTokens`. The cascade stops once the request is this small. */
  readonly enoughTokens: number;
  /** Bytes of a request at which a reduction is due; `Infinity` for no limit. */
  readonly dueBytes: number;
  /** Number of messages at which a reduction is due; `Infinity` for no limit. */
  readonly dueMessages: number;
  /** Number of messages to aim for; `Infinity` for no limit. */
  readonly targetMessages: number;
  /** `true` if a user or an overflow requested the reduction. Stages then accept small savings; `saving` applies to the whole. */
  readonly forced: boolean;
  /** `true` if the request is below all triggers. Then only stages with `isDueEarly` run, and only for a large saving. */
  readonly early: boolean;
}

/** The input of a stage, apart from the view. */
export interface StageContext {
  /** Counts tokens. All counts of one reduction use it. */
  readonly meter: Meter;
  /** The model that writes summaries; `undefined` if there is none. */
  readonly summarizer?: Model | undefined;
  /** The model that will read the result, if known. `native` uses its provider's compaction endpoint. */
  readonly model?: Model | undefined;
  /** `true` if the summarizer is the agent's own model. Its prompt cache has this system prompt, these tools and the conversation. */
  readonly live?: boolean | undefined;
  readonly system?: string | undefined;
  readonly tools?: readonly ToolDefinition[] | undefined;
  /** The caller's instructions for the summary, such as facts to keep. */
  readonly instructions?: string | undefined;
  /**
   * The id of the last message that may change. A stage with the cost `free` gets only the messages up to it. Default: `keep` determines
   * what a summary replaces.
   */
  readonly upTo?: string | undefined;
  /** Text to append unchanged to a summary. */
  readonly appendix?: string | undefined;
  /** The location of the log that has every message in full. */
  readonly logLocation?: string | undefined;
  /** Text that tells the model how to recall a message by its number; `undefined` if the model cannot recall messages. */
  readonly recall?: string | undefined;
  /** Redacts secrets in texts made from messages; `undefined` if redaction is off. */
  readonly redact?: Redact | undefined;
  readonly signal?: AbortSignal | undefined;
  /** For built-in stages that wait for models. */
  readonly work: ModelWork;
  /** The conversation before cheaper stages ran. */
  readonly conversation: readonly Message[];
  /** `true` shortly before a reduction is due: stages start their model calls, but do not wait for them. */
  readonly isAhead?: boolean | undefined;
  /** `true` in a dry run: no model may be called. */
  readonly dryRun: boolean;
  /** Returns a message as it was before this compaction. Cheaper stages may have altered it since. */
  original(message: Message): Message;
}

/** The fate of one message. */
export interface Fate {
  readonly messageId: string;
  readonly fate: MessageFate;
}

/** The result of a stage. */
export interface Reduction {
  /** The new list; the view's own list if nothing changed. */
  readonly messages: readonly Message[];
  /** One entry for each message that was removed or altered. If an entry is missing, the cascade rejects the reduction. */
  readonly fates: readonly Fate[];
  /** `true` if the older part was condensed as a whole. The number of messages then requires no further stage. */
  readonly condensed?: boolean;
  /** The reason why nothing changed, or a remark. */
  readonly note?: string;
  /** Why the stage failed. `messages` must then be the view's own list. */
  readonly failure?: string;
  /** Who wrote the summary. */
  readonly author?: CompactionStep['author'];
  /** Tokens of the model calls. */
  readonly usage?: Usage;
  /** The number of model calls, if `usage` is the sum of more than one. */
  readonly modelCalls?: number;
  /** `true` if `usage` was already reported to `StageContext.work` while the calls ran. */
  readonly isReported?: boolean;
}

/**
 * A way to make a conversation smaller. It returns a new list and never changes the view. The cascade checks every result. It
 * keeps the old list if a tool call would lose its result, a removed message would be missing from the manifest, or a pinned message would
 * be removed.
 */
export interface Stage {
  readonly name: string;
  /** `free` makes no model call. A dry run skips other stages, unless `worksInDryRun` is set. */
  readonly cost: 'free' | 'llm';
  /** `true` if the stage respects `StageContext.dryRun`. It then also runs in a dry run, whatever its cost. */
  readonly worksInDryRun?: boolean;
  /** Tests if the stage should run although the request is below all triggers. Default: never. */
  isDueEarly?(view: View, budget: ReductionTarget): boolean;
  /**
   * Starts the model calls that `reduce` will wait for. It is called shortly before a reduction is due, and only if the earlier stages
   * cannot make enough room. Returns whether it started anything.
   */
  prepare?(view: View, budget: ReductionTarget, context: StageContext): boolean;
  /**
   * Makes the view smaller.
   *
   * @throws any error. The step is then recorded as failed, and the cascade continues with the old list.
   */
  reduce(view: View, budget: ReductionTarget, context: StageContext): Promise<Reduction>;
}

/** Tests if the request exceeds its maximum size. Then no saving is too small. */
export function mustShrink(view: View, budget: ReductionTarget): boolean {
  return view.tokens > budget.mostTokens;
}

/** Tests if the request has so many bytes that a reduction is due. */
export function isHeavy({ messages }: Pick<View, 'messages'>, { dueBytes }: ReductionTarget): boolean {
  return dueBytes < Number.POSITIVE_INFINITY && messageBytes(messages) >= dueBytes;
}

/** Tests if the number of tokens makes a reduction due, or will soon. A requested reduction condenses the conversation anyway. */
export function isTooLong(view: View, budget: ReductionTarget, isAhead: boolean | undefined): boolean {
  return !budget.forced && (isAhead === true || view.tokens >= budget.dueTokens);
}

/** Tests if only the number of messages makes a reduction due. The reduction must then save messages. */
export function isByMessages(view: View, budget: ReductionTarget): boolean {
  return budget.reason === 'proactive_budget' && view.tokens < budget.dueTokens;
}

/** Tests if the messages without files have so many bytes that a reduction is due. Then replacing files is not enough. */
export function isHeavyInText({ messages }: Pick<View, 'messages'>, budget: ReductionTarget): boolean {
  return isHeavy({ messages: messages.filter(({ content }) => !content.some(holdsFile)) }, budget);
}

/** Returns the view unchanged, with the reason. */
export function unchanged(view: View, note: string): Reduction {
  return { messages: view.messages, fates: [], note };
}

/** Tests if a conversation has a message that is not a system message. Providers reject a conversation of system messages alone. */
export function saysAnything(messages: readonly Message[]): boolean {
  return messages.some((message) => message.role !== 'system');
}
