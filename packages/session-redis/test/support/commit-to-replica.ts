import type { Session } from '@x/core';
import type { Redis } from 'ioredis';

/** @param client The client of the session's store. */
export async function commitToReplica(session: Session, client: Redis): Promise<boolean> {
  let isSameConnection = true;
  const connected = () => {
    isSameConnection = false; // WAIT counts only writes of its own connection
  };
  client.on('connect', connected);
  try {
    await session.commit();
    return (await client.wait(1, 1_000)) > 0 && isSameConnection; // a replica confirmed within a second
  } finally {
    client.off('connect', connected);
  }
}
