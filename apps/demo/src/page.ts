import type { ContextUsage, Message, PendingCall, Todo } from '@x/core';
import type { KeptEvent, RenderedCall } from '@x/harness/view';
import type { Prices } from '@x/replay';

// What the server and the page tell each other. The page takes this file too: it imports types alone.

/** An event of the agent as plain JSON. */
export type PageEvent = KeptEvent;

/** One item of a session's stream: first its history and its state, then what happens. */
export type Sent =
  | { readonly type: 'history'; readonly events: readonly PageEvent[] }
  | { readonly type: 'state'; readonly state: SessionState }
  | PageEvent;

/** A call that waits for the user's permission, and what a person has to see of it. */
export interface WaitingCall extends PendingCall {
  readonly seen: RenderedCall;
}

/** The parts of a session's state that the page shows beside the conversation. */
export interface SessionState {
  /** True while a call or a compaction runs in this server. */
  readonly running: boolean;
  readonly todos: readonly Todo[];
  /** Tool calls that wait for the user's permission, in the order in which they were made. */
  readonly pending: readonly WaitingCall[];
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
  /** The text around the words that were searched for. */
  readonly found?: string | undefined;
}

export interface FileInfo {
  readonly path: string;
  /** Bytes. */
  readonly size: number;
  /** ISO 8601, UTC. */
  readonly modifiedAt: string;
  /** True for what the agent remembers over all conversations. */
  readonly isMemory: boolean;
}

/** The beginning of a file. */
export interface FileText {
  readonly text: string;
  /** Bytes of the whole file. */
  readonly size: number;
}

/** What the model saw at a place of the session, message by message, and what changed since the place before. */
export interface RequestView extends Pick<ContextUsage, 'system' | 'tools' | 'reminders'> {
  readonly messages: readonly RequestMessage[];
  /** Messages that the place before had and this one lacks. */
  readonly removed: readonly RequestMessage[];
}

export interface RequestMessage {
  readonly id: string;
  readonly source: 'summary' | 'conversation' | 'toolResults';
  /** What it is and what it works on, in one line. */
  readonly label: string;
  readonly tokens: number;
  readonly text: string;
  /** Absent when the place before had the same message. */
  readonly change?: 'added' | 'changed' | undefined;
  /** The text at the place before, where it changed. */
  readonly before?: string | undefined;
}

/** What a message says, tool outputs included, thinking left out. Other content is named. */
export function textOf(message: Pick<Message, 'content'>): string {
  return message.content
    .flatMap((block) => {
      if (block.type === 'text') return [block.text];
      if (block.type === 'tool_result') return [textOf({ content: block.output })];
      if (block.type === 'tool_use') return [`${block.name} ${JSON.stringify(block.input)}`];
      return block.type === 'file' ? [`[${block.filename ?? block.mediaType}]`] : [];
    })
    .join('\n');
}

/** The beginning of a text in one line. */
export function firstLine(text: string, length = 160): string {
  const beginning = text.slice(0, length * 2);
  return beginning.replace(/\s+/g, ' ').trim().slice(0, length);
}
