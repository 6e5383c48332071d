import { textOf } from '@x/core';
import type { PageEvent, Sent, SessionState } from '../src/page.js';
import type { PageBackend } from '../src/server/routes.js';
import {
  type Block,
  type Notice,
  transcriptOf as read,
  type Transcript,
} from '../web/src/state/transcript.js';

/** What the page shows of a session: what its events say, and its state. */
export type Told = Transcript & SessionState & { readonly events: readonly PageEvent[] };

/** What a page shows that was sent these items. */
export function told(items: readonly Sent[]): Told {
  let events: PageEvent[] = [];
  let state: SessionState = { running: false, todos: [], pending: [], queued: [] };
  for (const item of items) {
    if (item.type === 'history') events = [...item.events];
    else if (item.type === 'state') state = item.state;
    else events.push(item);
  }
  const transcript = read(events);
  return { ...state, ...transcript, call: state.running ? transcript.call : undefined, events };
}

/** What the page shows of a session now. */
export async function transcriptOf(backend: Pick<PageBackend, 'events'>, id: string): Promise<Told> {
  const items: Sent[] = [];
  for await (const sent of backend.events(id, new AbortController().signal)) {
    items.push(sent);
    if (sent.type === 'state') break;
  }
  return told(items);
}

export function textsOf({ messages }: Transcript): readonly string[] {
  return [...messages.values()].map(textOf);
}

/** The notices, but for the one that this machine has no sandbox, which only some machines give. */
export function noticesOf({ blocks }: Transcript): readonly Notice[] {
  const notices = blocks.flatMap((block: Block) => (block.type === 'notice' ? [block.notice] : []));
  return notices.filter(({ message }) => !message.includes('machine has no sandbox'));
}
