import { isMemoryPath } from '../memory-files.js';

/** What a file is: curated memory, the log of a session, or anything else that was indexed. */
export type MemorySource = 'memory' | 'sessions' | 'other';

/** Whose a file is, and what it is. Lines of different scopes are ranked apart and never meet in a scoped search. */
export interface IndexScope {
  /** The tenant's, user's and agent's directory: empty, or ends with `/`. */
  readonly prefix: string;
  readonly source: MemorySource;
}

const PREFIX = /^(?:tenants\/[^/]+\/)?(?:users\/[^/]+\/)?(?:agents\/[^/]+\/)?/;

export function scopeOfPath(path: string): IndexScope {
  const prefix = PREFIX.exec(path)?.[0] ?? '';
  const rest = path.slice(prefix.length);
  if (isMemoryPath(rest)) return { prefix, source: 'memory' };
  return { prefix, source: rest.startsWith('sessions/') ? 'sessions' : 'other' };
}
