import { readFileSync } from 'node:fs';
import type { SessionKey } from '@x/core';
import type { Pool } from 'mysql2/promise';

const fixture = readFileSync(new URL('../fixtures/version-1.sql', import.meta.url), 'utf8');

/** Makes the tables as version 1 did, and in them one session, of a user and without an agent. */
export async function writeVersionOne(pool: Pool, table: string, { parts }: SessionKey): Promise<void> {
  const script = fixture
    .replaceAll('#', table)
    .replaceAll('$user', String(parts.userId))
    .replaceAll('$session', parts.sessionId);
  for (const statement of script.split(/;\n/)) {
    if (statement.trim() !== '') await pool.query(statement);
  }
}
