import { type Message, userMessage } from '../src/index.js';

/** Short messages with the ids `<prefix>0`, `<prefix>1`… */
export function numbered(count: number, prefix = 'm'): Message[] {
  return Array.from({ length: count }, (_, index) =>
    userMessage(`text of ${prefix}${index}`, {
      id: `${prefix}${index}`,
      createdAt: '2026-01-02T03:04:05.678Z',
    }),
  );
}
