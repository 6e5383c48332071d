import {
  type AgentEvent,
  type AgentEventBody,
  type ContextUsage,
  errorText,
  type Todo,
  XError,
} from '@x/core';
import type { SideWork } from './transcript.js';

/** An error as the page shows it. */
export interface ErrorInfo {
  /** Stable, for programs. */
  readonly code: string;
  /** The problem and the remedy, for people. */
  readonly message: string;
}

type AgentBody<Type extends AgentEventBody['type']> = Extract<AgentEventBody, { readonly type: Type }>;

/**
 * An event for the page: the agent's events as plain JSON, with the summary and the window after a compaction, and events of
 * a session outside a call.
 */
export type PageEventBody =
  | Exclude<AgentEventBody, AgentBody<'call.failed'> | AgentBody<'context.compacted'>>
  | { readonly type: 'call.failed'; readonly callId: string; readonly error: ErrorInfo }
  | (AgentBody<'context.compacted'> & CompactionDetails)
  | { readonly type: 'context.restored'; readonly compactionId: string; readonly context?: ContextUsage }
  | { readonly type: 'work.changed'; readonly work: SideWork }
  | { readonly type: 'todos.changed'; readonly todos: readonly Todo[] };

/** Facts of a compaction that the agent's `context.compacted` event lacks. */
export interface CompactionDetails {
  /** The summary that was written, if any. */
  readonly summary?: string | undefined;
  /** What the model saw right after it of altered messages that stayed, by message id. */
  readonly stubs?: Readonly<Record<string, string>> | undefined;
  /** The window after the compaction, by source; `contextAfter` works it out. Without it the next step tells. */
  readonly context?: ContextUsage | undefined;
}

export type PageEvent = PageEventBody & {
  readonly sessionId: string;
  /** ISO 8601, UTC. */
  readonly at: string;
};

/** The agent's event for the page; `details` adds to `context.compacted` what only the backend knows. */
export function toPageEvent(event: AgentEvent, details: CompactionDetails = {}): PageEvent {
  if (event.type === 'call.failed') return { ...event, error: toErrorInfo(event.error) };
  if (event.type === 'context.compacted') return { ...event, ...details };
  return event;
}

/** An error for people: its own code where it has one, never a stack. */
function toErrorInfo(error: unknown): ErrorInfo {
  if (XError.isInstance(error)) return { code: error.code, message: error.message };
  return { code: 'internal', message: errorText(error) };
}
