import { randomBytes } from 'node:crypto';

const processName = randomBytes(9).toString('base64url');
let count = 0;

/** A name for one attempt to change something, by which it is recognized when it arrives twice. */
export function operationId(): string {
  // Drawing random bytes each time would take a tenth of the time that a commit spends in this process.
  count += 1;
  return `${processName}${count.toString(36)}`;
}
