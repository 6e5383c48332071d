import type { Session } from '@x/core';
import type { Redis } from 'ioredis';

/** @param client That of the session's store. */
export async function commitToReplica(session: Session, client: Redis): Promise<boolean> {
  let isSameConnection = true;
  const connected = () => {
    isSameConnection = false; // another connection wrote nothing, and any replica has all of that
  };
  client.on('connect', connected);
  try {
    await session.commit();
    return (await client.wait(1, 1_000)) > 0 && isSameConnection; // replicas that have it within a second
  } finally {
    client.off('connect', connected);
  }
}
