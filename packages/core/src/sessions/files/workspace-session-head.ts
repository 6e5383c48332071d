import { z } from 'zod';
import { parseWith } from '../../config/parse.js';
import { jsonObjectSchema } from '../../lib/json.js';
import { SessionKey } from '../session-key.js';
import { DamagedFileError } from './session-files.js';

const count = z.number().int().nonnegative();
const segmentSchema = z.strictObject({
  /** A name in the session's directory. */
  file: z.string().regex(/^[0-9a-z-]+\.jsonl$/),
  /** What counts of the file. Bytes behind it belong to a commit that never happened, or was cut off again. */
  bytes: count,
  messages: count,
});
const headSchema = z.strictObject({
  format: z.literal(1),
  key: z.strictObject({
    tenantId: z.string().optional(),
    userId: z.string().optional(),
    agentId: z.string().optional(),
    sessionId: z.string(),
  }),
  version: count,
  head: jsonObjectSchema,
  segments: z.array(segmentSchema),
  updatedAt: z.string(),
});

/** A part of the message list: a file, and how much of it counts. */
export type Segment = z.infer<typeof segmentSchema>;

/** The one file that says what a session is: replacing it is the commit. */
export interface SessionHead {
  readonly key: SessionKey;
  readonly version: number;
  readonly head: z.infer<typeof jsonObjectSchema>;
  readonly segments: readonly Segment[];
  readonly updatedAt: string;
}

export function formatHead({ key, ...rest }: SessionHead): string {
  return JSON.stringify({ format: 1, key: key.parts, ...rest });
}

/**
 * The inverse of {@link formatHead}.
 *
 * @param owner the session that the file must belong to; any, when left out.
 * @throws {DamagedFileError} when the text is no head, or another session's.
 */
export function parseHead(path: string, text: string, owner?: SessionKey): SessionHead {
  const stored = parse(path, text);
  if (owner === undefined || stored.key.equals(owner)) return stored;
  throw new DamagedFileError(path, `belongs to session ${stored.key}`);
}

function parse(path: string, text: string): SessionHead {
  try {
    const { format: _, key, ...rest } = parseWith(headSchema, JSON.parse(text), 'session head');
    return { ...rest, key: SessionKey.of(key) };
  } catch (error) {
    throw new DamagedFileError(path, `is no session head (${(error as Error).message})`, error);
  }
}
