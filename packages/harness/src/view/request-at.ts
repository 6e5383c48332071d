import type { AgentEvent, AgentEventBody, ContextUsage, Message } from '@x/core';
import type { ForClient } from '@x/core/internal';

type Told = ForClient<AgentEventBody>;
type Body<Type extends Told['type']> = Extract<Told, { readonly type: Type }>;

type ChangeOfView = 'context.compacted' | 'context.narrated' | 'context.restored';

/**
 * The conversation right after a compaction, a late narrative or an undo. Messages that the log has unchanged appear as
 * ids.
 */
interface ViewAfter {
  readonly view?: readonly (string | Message)[] | undefined;
}

/** An event as `eventLog` stores it: plain JSON, with errors as clients may see them. */
export type KeptEvent = (
  | Exclude<Told, Body<ChangeOfView>>
  | (Body<'context.compacted'> & ViewAfter)
  | (Body<'context.narrated'> & ViewAfter)
  | (Body<'context.restored'> & ViewAfter)
) &
  Pick<AgentEvent, 'callId' | 'seq' | 'at'>;

/** The model's view at one point of a session. */
export interface SeenRequest {
  /** The conversation without system prompt, tools and reminders. */
  readonly messages: readonly Message[];
  /** The conversation at the previous point. For a compaction or an undo, the conversation right before it. */
  readonly before: readonly Message[];
  readonly usage: ContextUsage | undefined;
}

const PLACES: ReadonlySet<string> = new Set(['model.started', 'context.compacted', 'context.restored']);

/**
 * Tests if an event is a point of the session that {@link requestAt} can rebuild: a request, compaction or undo with
 * its context usage.
 */
export function isPlace(event: KeptEvent): boolean {
  return PLACES.has(event.type) && 'context' in event && event.context !== undefined;
}

/**
 * Rebuilds the model's view at a point of a session: in a request, or right after a compaction or an undo.
 *
 * @param events All stored events of the session, oldest first.
 * @param place Number of the request, compaction or undo, from 1.
 * @returns `undefined` if the session has no such point.
 */
export function requestAt(events: readonly KeptEvent[], place: number): SeenRequest | undefined {
  const known = new Map<string, Message>();
  let view = new Map<string, Message>();
  let before: readonly Message[] = [];
  let count = 0;
  for (const event of events) {
    if ('view' in event && event.view) {
      // Messages after the last request were present when the compaction or undo began.
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
