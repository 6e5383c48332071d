import { randomBytes } from 'node:crypto';

/** A name for one attempt to change something, by which it is recognised when it arrives twice. */
export function operationId(): string {
  return randomBytes(9).toString('base64url');
}
