import type { Message, PendingCall, Todo } from '@x/core';
import type { KeptEvent, RenderedCall } from '@x/harness/view';
import type { Prices } from '@x/replay';

// Types of the API between server and page. The page can import this file because it imports only types.

/** An event of the agent as plain JSON. */
export type PageEvent = KeptEvent;

/** One item of a session's stream: first its history and state, then live events. */
export type Sent =
  | { readonly type: 'history'; readonly events: readonly PageEvent[] }
  | { readonly type: 'state'; readonly state: SessionState }
  | PageEvent;

/** A call that waits for the user's approval, with its rendering. */
export interface WaitingCall extends PendingCall {
  readonly seen: RenderedCall;
}

/** The parts of a session's state that the page shows next to the conversation. */
export interface SessionState {
  /** Whether a call or a compaction runs in this server. */
  readonly running: boolean;
  readonly todos: readonly Todo[];
  /** Tool calls that wait for the user's approval, in the order in which they were made. */
  readonly pending: readonly WaitingCall[];
  /** Messages of the user that the running call has not read yet. */
  readonly queued: readonly Message[];
}

/** The model and the window of the agent. */
export interface BackendInfo {
  readonly model: {
    readonly id: string;
    /** Whether it is the embedded guide: rules, no LLM. */
    readonly embedded: boolean;
    /** US dollars per million tokens; undefined if unknown. */
    readonly prices?: Prices | undefined;
  };
  /** Tokens. */
  readonly contextWindow: number;
  /** Tokens at which automatic compaction starts; 0 if there is none. */
  readonly triggerTokens: number;
}

export interface SessionSummary {
  readonly id: string;
  /** The first message of the user. */
  readonly title: string;
  /** ISO 8601, UTC. */
  readonly updatedAt: string;
  readonly running: boolean;
  /** Whether a call waits for the user's approval. */
  readonly waits?: boolean | undefined;
  /** Whether the stored session cannot be read. */
  readonly damaged?: boolean;
  /** The text around the search words, and the id of its message. */
  readonly found?: { readonly text: string; readonly messageId: string } | undefined;
}

export interface FileInfo {
  readonly path: string;
  /** Bytes. */
  readonly size: number;
  /** ISO 8601, UTC. */
  readonly modifiedAt: string;
  /** Whether it is a memory file, which applies to all conversations. */
  readonly isMemory: boolean;
}

/** The beginning of a file. */
export interface FileText {
  readonly text: string;
  /** Bytes of the whole file. */
  readonly size: number;
}

/** The model's view at a place of the session, message by message, and the changes since the previous place. */
export interface RequestView {
  readonly messages: readonly RequestMessage[];
  /** Messages that were in the view at the previous place but are not in this one. */
  readonly removed: readonly RequestMessage[];
}

export interface RequestMessage {
  readonly id: string;
  readonly source: 'summary' | 'conversation' | 'toolResults';
  /** A one-line description of the message and its subject. */
  readonly label: string;
  readonly tokens: number;
  readonly text: string;
  /** Undefined if the message was the same at the previous place. */
  readonly change?: 'added' | 'changed' | undefined;
  /** The text at the previous place, if it has changed. */
  readonly before?: string | undefined;
}

/** The first sentence of the error for HTTP 401 and 403 of the model. */
export const KEY_REFUSED = 'The server of the model refused the key.';

/** Returns a message's text, including tool outputs but without thinking. Other content is named. */
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

/** Returns a text in one line. A long text is cut. */
export function inOneLine(text: string, length = 160): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length > length ? `${line.slice(0, length)}…` : line;
}
