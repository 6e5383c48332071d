import { EventHub } from './event-hub.js';

/** What a page asks for: the events of a session after one, or nothing more. */
export type Order = { readonly sessionId: string; readonly after: string } | undefined;

const hub = new EventHub();

(self as unknown as { onconnect: (event: MessageEvent) => void }).onconnect = ({ ports: [port] }) => {
  if (!port) return;
  let end = () => {};
  port.onmessage = ({ data: order }: MessageEvent<Order>) => {
    end();
    end = order ? hub.follow(order.sessionId, order.after, (message) => port.postMessage(message)) : () => {};
  };
};
