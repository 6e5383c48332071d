import { afterEach, beforeEach, expect, it } from 'vitest';
import { EventHub, type HubMessage } from '../../web/src/state/event-hub.js';
import { chat } from '../fake-backend/scenarios.js';
import { type EventReader, readEvents } from '../server/event-reader.js';
import { startServer } from '../server/running-server.js';

let server: Awaited<ReturnType<typeof startServer>>;
let left: (() => void)[];

/** A browser's, over a real connection: Node has none of its own. */
class NodeEventSource {
  onmessage: ((message: { readonly data: string }) => void) | undefined;
  onerror: (() => void) | undefined;
  #reader: EventReader | undefined;
  #closed = false;

  constructor(path: string) {
    void this.#read(path);
  }

  addEventListener(): void {}

  close(): void {
    this.#closed = true;
    void this.#reader?.close();
  }

  async #read(path: string): Promise<void> {
    try {
      this.#reader = readEvents(await server.ask(path));
      while (!this.#closed) {
        const { event, data } = await this.#reader.next();
        if (event === undefined && !this.#closed) this.onmessage?.({ data });
      }
    } catch {
      if (!this.#closed) this.onerror?.();
    }
  }
}

beforeEach(async () => {
  Object.assign(globalThis, { EventSource: NodeEventSource });
  server = await startServer();
  server.backend.seed('s', (stage) => chat(stage, 'Hello'));
  left = [];
});
afterEach(async () => {
  for (const leave of left) leave();
  await server.close();
  Reflect.deleteProperty(globalThis, 'EventSource');
});

function follow(hub: EventHub, after: string): HubMessage[] {
  const heard: HubMessage[] = [];
  left.push(hub.follow('s', after, (message) => void heard.push(message)));
  return heard;
}

const typesIn = (heard: readonly HubMessage[]) =>
  heard.flatMap((message) => ('event' in message ? [message.event.type] : []));

it.each(['other-process-0', 'other-process-9999'])(
  'tells all pages to load again when one is of another process: %s',
  async (old) => {
    const { lastEventId } = await server.backend.transcript('s');
    for (const order of [
      [lastEventId, old],
      [old, lastEventId],
    ]) {
      const hub = new EventHub();
      const pages = order.map((after) => follow(hub, after));
      await expect.poll(() => pages.every((heard) => typesIn(heard).includes('reset'))).toBe(true);
    }
  },
);

it('tells each page what it has missed, and nothing twice', async () => {
  const { lastEventId } = await server.backend.transcript('s');
  const hub = new EventHub();
  const first = follow(hub, lastEventId);
  await server.backend.send('s', 'And now?');
  await expect.poll(() => typesIn(first).at(-1)).toBe('call.completed');
  const second = follow(hub, lastEventId);
  await expect.poll(() => typesIn(second)).toEqual(typesIn(first));
  await server.backend.send('s', 'And then?');
  await expect.poll(() => typesIn(second).filter((type) => type === 'call.completed').length).toBe(2);
  await expect.poll(() => typesIn(first)).toEqual(typesIn(second));
});
