import type { Message, SessionLog } from '@x/core';

/** So many messages are looked up one by one … */
const FEW = 16;
/** … and more of them by reading the log, as long as it has at most so many others for each. */
const OTHERS_FOR_EACH = 32;

/**
 * The messages with these ids that a log holds, by id. To look one up costs a file log as much as to read some dozens in
 * a row: many are found in one pass.
 *
 * @throws what reading the log throws.
 */
export async function findLogged(
  ids: ReadonlySet<string>,
  log: SessionLog,
): Promise<ReadonlyMap<string, Message>> {
  const found = new Map<string, Message>();
  if (ids.size > FEW) {
    let patience = ids.size * OTHERS_FOR_EACH;
    for await (const message of log.read()) {
      if (ids.has(message.id)) found.set(message.id, message);
      if (found.size === ids.size || --patience === 0) break;
    }
    if (patience > 0) return found;
  }
  for (const id of ids) {
    if (found.has(id)) continue;
    const message = await log.get(id);
    if (message !== undefined) found.set(id, message);
  }
  return found;
}
