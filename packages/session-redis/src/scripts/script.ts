import { createHash } from 'node:crypto';

/** Lua that Redis runs whole or not at all, and by whose hash it is called. */
export interface Script {
  readonly source: string;
  readonly sha1: string;
}

export function script(source: string): Script {
  return { source, sha1: createHash('sha1').update(source).digest('hex') };
}
