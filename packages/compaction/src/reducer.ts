import type { CompactionReason, Message, MessageFate, Model, Redact, ToolDefinition, Usage } from '@x/core';
import type { Meter } from './meter.js';

/** A conversation as a reducer sees it. */
export interface View {
  readonly messages: readonly Message[];
  /** Tokens of what no reducer can change: system prompt, tool definitions, reminders. */
  readonly fixedTokens: number;
  /** Tokens of the whole request. */
  readonly tokens: number;
}

/** How small the request must become. All in tokens of the whole request unless named otherwise. */
export interface ReductionTarget {
  readonly reason: CompactionReason;
  /** The window of the model that will read the result. */
  readonly contextWindow: number;
  /** Where a reduction is due; shares of what is kept and of the record are shares of it. */
  readonly dueTokens: number;
  /** What the request must not exceed: the window less room for the answer. Results that no model has seen stay up to it. */
  readonly mostTokens: number;
  /** What a reducer aims for that condenses the older part as a whole, so that reductions are rare. */
  readonly targetTokens: number;
  /** Where the cascade stops, below the trigger: what a cheap reducer aims for. At least the target. */
  readonly enoughTokens: number;
  /** Messages to aim for; `Infinity` when their number does not matter. */
  readonly targetMessages: number;
  /** Asked for by hand or by an overflow: worth doing even when it saves little. */
  readonly forced: boolean;
  /** No main trigger was reached: only reducers whose own trigger was reached run, and only for a large saving. */
  readonly early: boolean;
}

/** What a reducer works with beside the view. */
export interface ReducerContext {
  /** The one measure to count with. */
  readonly meter: Meter;
  /** The model that writes summaries; `undefined` when there is none. */
  readonly summarizer?: Model | undefined;
  /** The model that will read the result, where known: for its own compaction endpoint. */
  readonly model?: Model | undefined;
  /** The conversation is sent to the summarizer itself, with this system prompt and these tools: its cache holds the beginning. */
  readonly live?: boolean | undefined;
  readonly system?: string | undefined;
  readonly tools?: readonly ToolDefinition[] | undefined;
  /** What the caller asks a summary to keep. */
  readonly instructions?: string | undefined;
  /** Text to be carried mechanically behind a summary. */
  readonly appendix?: string | undefined;
  /** Where messages can be read in full. */
  readonly logLocation?: string | undefined;
  /** How the model gets a message back by its number, in words for the model; `undefined` where it cannot. */
  readonly recall?: string | undefined;
  /** Takes secrets out of what is kept of a message beside it; `undefined` when that is switched off. */
  readonly redact?: Redact | undefined;
  readonly signal?: AbortSignal | undefined;
  /** A dry run: no model may be called. */
  readonly dryRun: boolean;
  /** The message as it was when this compaction began, before cheaper reducers altered it. */
  original(message: Message): Message;
}

/** What became of one message. */
export interface Fate {
  readonly messageId: string;
  readonly fate: MessageFate;
}

/** What a reducer answers. */
export interface Reduction {
  /** The new list; the view's own list when nothing changed. */
  readonly messages: readonly Message[];
  /** One entry for each message that was removed or altered. A list that leaves one out is not used. */
  readonly fates: readonly Fate[];
  /** The older part was condensed as a whole: a trigger on the number of messages is satisfied by it. */
  readonly condensed?: boolean;
  /** Why nothing changed, or what is worth knowing. */
  readonly note?: string;
  /** Set when the reducer should have done something and could not; the list must be the view's own. */
  readonly failure?: string;
  /** What model calls cost. */
  readonly usage?: Usage;
}

/**
 * One way to make a conversation smaller. Pure toward the view: it answers a new list and changes nothing. The cascade
 * checks every answer and keeps the old list when a tool call would lose its result, a message would vanish
 * unaccounted for, or a pinned message would go.
 */
export interface Reducer {
  readonly name: string;
  /** `free` makes no model call. A dry run skips what is not free, unless the reducer heeds `dryRun` itself. */
  readonly cost: 'free' | 'llm';
  /** Reducers that heed `ReducerContext.dryRun` and may therefore run in a dry run whatever they cost. */
  readonly worksInDryRun?: boolean;
  /** Whether to run already now, although no main trigger has been reached. Default: no. */
  isDueEarly?(view: View, budget: ReductionTarget): boolean;
  /** @throws whatever it likes: the step is recorded as failed and the cascade goes on with the list as it was. */
  reduce(view: View, budget: ReductionTarget, context: ReducerContext): Promise<Reduction>;
}

/** The answer of a reducer that leaves everything as it is. */
export function unchanged(view: View, note: string): Reduction {
  return { messages: view.messages, fates: [], note };
}

/** Whether there is anything to answer: system messages alone are no conversation, and providers refuse it. */
export function saysAnything(messages: readonly Message[]): boolean {
  return messages.some((message) => message.role !== 'system');
}
