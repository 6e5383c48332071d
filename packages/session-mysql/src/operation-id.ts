import { randomUUID } from 'node:crypto';

/** Twelve bytes that nobody draws twice. From a UUID: Node draws those in advance, where `randomBytes` asks each time. */
export function operationId(): Buffer {
  return Buffer.from(randomUUID().replaceAll('-', ''), 'hex').subarray(4);
}
