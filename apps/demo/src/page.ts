import type {
  AgentEvent,
  AgentEventBody,
  ContextUsage,
  Message,
  PendingCall,
  Todo,
  ToolResultBlock,
} from '@x/core';
import type { ForClient, PermissionContext } from '@x/core/internal';
import type { SubagentTask } from '@x/harness';
import type { Prices } from '@x/replay';

// What the server and the page tell each other. The page takes this file too: it imports types alone.

type Body<Type extends AgentEventBody['type']> = Extract<ForClient<AgentEventBody>, { readonly type: Type }>;

/**
 * The conversation right after a compaction or an undo: messages that the log has unchanged by their id, others (summaries, altered
 * messages) whole.
 */
interface ViewAfter {
  readonly view?: readonly (string | Message)[] | undefined;
}

/** An event of the agent as plain JSON. */
export type PageEvent = (
  | Exclude<ForClient<AgentEventBody>, Body<'context.compacted'> | Body<'context.restored'>>
  | (Body<'context.compacted'> & ViewAfter)
  | (Body<'context.restored'> & ViewAfter)
) &
  Pick<AgentEvent, 'callId' | 'seq' | 'at'>;

/** One item of a session's stream: first its history and its state, then what happens. */
export type Sent =
  | { readonly type: 'history'; readonly events: readonly PageEvent[] }
  | { readonly type: 'state'; readonly state: SessionState }
  | PageEvent;

/** The parts of a session's state that the page shows beside the conversation. */
export interface SessionState {
  /** True while a call or a compaction runs in this server. */
  readonly running: boolean;
  readonly todos: readonly Todo[];
  /** Tool calls that wait for the user's permission, in the order in which they were made. */
  readonly pending: readonly PendingCall[];
  readonly plan: Plan;
  /** Tasks of subagents, oldest first. */
  readonly tasks: readonly BackgroundTask[];
  readonly permissionMode?: PermissionContext['mode'];
}

export interface Plan {
  /** True while the agent may only read. */
  readonly active: boolean;
  /** The path in the workspace, once there is a plan. */
  readonly path?: string | undefined;
  readonly text?: string | undefined;
}

/** A task of a subagent; `task` is the beginning of the message that it was given. */
export interface BackgroundTask extends Pick<SubagentTask, 'taskId' | 'subagent' | 'task' | 'status'> {
  /** The beginning of its answer, or of its error. */
  readonly outcome?: string | undefined;
}

/** The model and the window behind the page. */
export interface BackendInfo {
  readonly model: {
    readonly id: string;
    /** True for the embedded guide: rules, no LLM. */
    readonly embedded: boolean;
    /** US dollars per million tokens; left out where no prices are known. */
    readonly prices?: Prices | undefined;
  };
  /** Tokens. */
  readonly contextWindow: number;
  /** Tokens at which a compaction begins by itself; 0 when none does. */
  readonly triggerTokens: number;
  /** True when the agent can plan. */
  readonly plans: boolean;
  /** Suggestions on an empty page; a click sends `prompt`. */
  readonly starters: readonly {
    readonly icon: 'survey' | 'ask' | 'write';
    readonly title: string;
    readonly description: string;
    readonly prompt: string;
  }[];
}

export interface SessionSummary {
  readonly id: string;
  /** The first thing that the user said. */
  readonly title: string;
  /** ISO 8601, UTC. */
  readonly updatedAt: string;
  readonly running: boolean;
  /** True when the stored session cannot be read. */
  readonly damaged?: boolean;
}

export interface ExpandedMessage {
  readonly original: Message;
  /** The message as the model sees it now; `undefined` when it was removed from the model's view. */
  readonly current?: Message | undefined;
}

export interface FileInfo {
  readonly path: string;
  /** Bytes. */
  readonly size: number;
  /** ISO 8601, UTC. */
  readonly modifiedAt: string;
}

export interface FilePart {
  readonly path: string;
  readonly text: string;
  /** Bytes of the whole file. */
  readonly size: number;
  /** Bytes; the next part begins here, never within a character. Absent at the end. */
  readonly nextOffset?: number | undefined;
}

/** A request to the model, message by message, and what changed since the request before. */
export interface RequestView extends Pick<ContextUsage, 'system' | 'tools' | 'reminders'> {
  readonly messages: readonly RequestMessage[];
  /** Messages that the request before had and this one lacks. */
  readonly removed: readonly RequestMessage[];
}

export interface RequestMessage {
  readonly id: string;
  readonly source: 'summary' | 'conversation' | 'toolResults';
  readonly tokens: number;
  readonly text: string;
  /** Absent when the request before had the same message. */
  readonly change?: 'added' | 'altered' | undefined;
}

/** A memory file; its path is for example `MEMORY.md` or `memory/2026-01-31.md`. */
export interface MemoryFile extends FileInfo {
  readonly kind: 'core' | 'note' | 'other';
}

export interface MemoryLine {
  readonly path: string;
  /** From 1. */
  readonly lineNumber: number;
  /** So much of the line as fits, around the match. */
  readonly snippet: string;
}

/** What a message says, tool outputs included, thinking left out. */
export function textOf(message: Message): string {
  return message.content
    .flatMap((block) => {
      if (block.type === 'text') return [block.text];
      if (block.type === 'tool_result') return [outputOf(block)];
      if (block.type === 'tool_use') return [`${block.name} ${JSON.stringify(block.input)}`];
      return [];
    })
    .join('\n');
}

/** A tool's output as text; other content is named. */
export function outputOf(result: ToolResultBlock): string {
  return result.output
    .map((block) => (block.type === 'text' ? block.text : `[${block.filename ?? block.mediaType}]`))
    .join('\n');
}

/** The beginning of a text in one line. */
export function firstLine(text: string, length = 160): string {
  const beginning = text.slice(0, length * 2);
  return beginning.replace(/\s+/g, ' ').trim().slice(0, length);
}
