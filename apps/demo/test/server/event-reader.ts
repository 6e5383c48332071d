import type { Sent } from '../../src/page.js';

interface ServerSentEvent {
  readonly event?: string;
  readonly data: string;
}

export type EventReader = ReturnType<typeof readEvents>;

/** Reads server-sent events as a browser does. */
export function readEvents(response: Response) {
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  let buffer = '';

  async function next(): Promise<ServerSentEvent> {
    for (;;) {
      const end = buffer.indexOf('\n\n');
      if (end >= 0) {
        const event = parse(buffer.slice(0, end));
        buffer = buffer.slice(end + 2);
        return event;
      }
      const { value, done } = await reader.read();
      if (done) throw new Error('the stream ended');
      buffer += decoder.decode(value, { stream: true });
    }
  }

  return {
    next,
    /** Items up to one of that type. */
    async until(type: Sent['type']): Promise<Sent[]> {
      const items: Sent[] = [];
      while (items.at(-1)?.type !== type) {
        const { event, data } = await next();
        if (event === undefined) items.push(JSON.parse(data) as Sent);
      }
      return items;
    },
    /** Whether the stream ends. */
    async ended(): Promise<boolean> {
      try {
        for (;;) await next();
      } catch {
        return true;
      }
    },
    close: () => reader.cancel().catch(() => undefined),
  };
}

function parse(text: string): ServerSentEvent {
  const fields = new Map(
    text.split('\n').map((line): [string, string] => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon), line.slice(colon + 1).trim()];
    }),
  );
  const event = fields.get('event');
  return { data: fields.get('data') ?? '', ...(event && { event }) };
}
