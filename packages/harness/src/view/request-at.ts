import type { AgentEvent, AgentEventBody, ContextUsage, Message } from '@x/core';
import type { ForClient } from '@x/core/internal';

type Told = ForClient<AgentEventBody>;
type Body<Type extends Told['type']> = Extract<Told, { readonly type: Type }>;

type ChangeOfView = 'context.compacted' | 'context.narrated' | 'context.restored';

/** The conversation right after a compaction, a narrative that came late, or an undo: messages that the log has unchanged by their id, all others whole. */
interface ViewAfter {
  readonly view?: readonly (string | Message)[] | undefined;
}

/** An event as `eventLog` keeps it: plain JSON, with errors as a client may read them. */
export type KeptEvent = (
  | Exclude<Told, Body<ChangeOfView>>
  | (Body<'context.compacted'> & ViewAfter)
  | (Body<'context.narrated'> & ViewAfter)
  | (Body<'context.restored'> & ViewAfter)
) &
  Pick<AgentEvent, 'callId' | 'seq' | 'at'>;

/** What the model saw at one place of a session. */
export interface SeenRequest {
  /** The conversation, without system prompt, tools and reminders. */
  readonly messages: readonly Message[];
  /** The conversation at the place before; of a compaction or an undo, right before it. */
  readonly before: readonly Message[];
  readonly usage: ContextUsage | undefined;
}

const PLACES: ReadonlySet<string> = new Set(['model.started', 'context.compacted', 'context.restored']);

/** Returns whether an event is a place of the session: a request, a compaction or an undo, with its window. */
export function isPlace(event: KeptEvent): boolean {
  return PLACES.has(event.type) && 'context' in event && event.context !== undefined;
}

/**
 * Rebuilds what the model saw at a place of a session: in a request, or right after a compaction or an undo.
 *
 * @param events All kept events of the session, oldest first.
 * @param place Counts requests, compactions and undos from 1.
 * @returns `undefined` when the session has no such place.
 */
export function requestAt(events: readonly KeptEvent[], place: number): SeenRequest | undefined {
  const known = new Map<string, Message>();
  let view = new Map<string, Message>();
  let before: readonly Message[] = [];
  let count = 0;
  for (const event of events) {
    if ('view' in event && event.view) {
      // What came after the last request was there when this began.
      before = [...view.values()];
      const messages = event.view.flatMap((part) =>
        typeof part === 'string' ? (known.get(part) ?? []) : [part],
      );
      view = new Map(messages.map((message) => [message.id, message]));
    } else if ('message' in event && typeof event.message === 'object') {
      known.set(event.message.id, event.message);
      if (!view.has(event.message.id)) view.set(event.message.id, event.message);
    }
    if (!isPlace(event)) continue;
    count++;
    const messages = [...view.values()];
    if (count === place) return { messages, before, usage: 'context' in event ? event.context : undefined };
    before = messages;
  }
  return undefined;
}
