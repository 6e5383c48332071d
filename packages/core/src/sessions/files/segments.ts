import { randomBytes } from 'node:crypto';
import * as z from 'zod';
import { parseWith } from '../../config/parse.js';
import { SessionStoreError } from '../../errors/session-errors.js';
import { jsonObjectSchema } from '../../lib/json-schemas.js';
import { readMessages } from '../../messages/check-messages.js';
import type { Message } from '../../messages/message.js';
import type { Workspace } from '../../workspace/workspace.js';
import { SessionKey, type SessionKeyParts } from '../session-key.js';
import { checkFormat, lastOf } from '../store-rules.js';
import { DamagedFileError, ifFound } from './session-files.js';

const count = z.number().int().nonnegative();
const segmentSchema = z.strictObject({
  /** A name in the session's directory. */
  file: z.string().regex(/^[0-9a-z-]+\.jsonl$/),
  /** Number of valid bytes. Bytes after them belong to a commit that never completed, or to messages that a later commit cut. */
  bytes: count,
  messages: count,
});
const FORMAT = 1;
const manifestSchema = z.object({
  format: z.literal(FORMAT),
  key: z.unknown(),
  /** Random id of this session. A session that is created again with the key of a deleted session has a new id. */
  incarnation: z.string(),
  /** Operations of the latest commits, newest last. */
  operations: z.array(z.string()).min(1).readonly(),
  version: count,
  head: jsonObjectSchema,
  segments: z.array(segmentSchema).readonly(),
  createdAt: z.string(),
  updatedAt: z.string(),
});

/** A part of the message list: a file, and how much of it is valid. */
export type Segment = z.infer<typeof segmentSchema>;

/** The file that describes one version of a session. */
export type Manifest = Readonly<z.infer<typeof manifestSchema>> & { readonly key: SessionKey };

export function formatManifest({ key, ...rest }: Omit<Manifest, 'format'>): string {
  return JSON.stringify({ ...rest, format: FORMAT, key: key.parts });
}

/**
 * The inverse of {@link formatManifest}.
 *
 * @param owner The session that the manifest must belong to. Default: any session.
 * @throws {DamagedFileError} when the text is invalid, or belongs to another session.
 * @throws {SessionStoreError} `session_older` or `session_newer` when it has another format.
 */
export function parseManifest(path: string, text: string, owner?: SessionKey): Manifest {
  let manifest: Manifest;
  try {
    const data: unknown = JSON.parse(text);
    checkFormat(path, Object(data).format, FORMAT, '@x/core', owner);
    const stored = parseWith(manifestSchema, data, 'session manifest');
    manifest = { ...stored, key: SessionKey.of(stored.key as SessionKeyParts) };
  } catch (error) {
    if (SessionStoreError.isInstance(error)) throw error;
    throw new DamagedFileError(path, `is not a valid session manifest (${(error as Error).message})`, error);
  }
  if (owner === undefined || manifest.key.equals(owner)) return manifest;
  throw new DamagedFileError(path, `belongs to session ${manifest.key}`);
}

/** Maximum number of segments of a session. Beyond it, the next commit merges all segments into one, so that a load reads few files. */
const MAX_SEGMENTS = 32;
const NEWLINE = 10;

/** Reads all messages of a session, or the last `last`. */
export async function readSegments(
  workspace: Workspace,
  directory: string,
  segments: readonly Segment[],
  last = Number.POSITIVE_INFINITY,
): Promise<readonly Message[]> {
  const messages: Message[] = [];
  const behind = (index: number) => segments.slice(index + 1).reduce((sum, next) => sum + next.messages, 0);
  for (const [index, segment] of segments.entries()) {
    if (behind(index) >= last) continue;
    const path = `${directory}/${segment.file}`;
    const text = Buffer.from(await readSegment(workspace, directory, segment)).toString('utf8');
    const lines = text.split('\n');
    if (lines.pop() !== '' || lines.length !== segment.messages) {
      throw new DamagedFileError(path, `does not contain ${segment.messages} complete lines`);
    }
    for (const message of readMessages(lines, path)) messages.push(message);
  }
  return lastOf(messages, Math.min(last, messages.length));
}

/** Writes the messages that a change adds, and returns the segments of the new list. Valid bytes of existing segments never change. */
export async function writeSegments(
  workspace: Workspace,
  directory: string,
  current: readonly Segment[],
  change: { readonly keep: number; readonly append: readonly Message[] },
): Promise<readonly Segment[]> {
  const kept = await keepMessages(workspace, directory, current, change.keep);
  const added = Buffer.from(change.append.map((message) => `${JSON.stringify(message)}\n`).join(''));
  const messages = change.append.length;

  if (kept.length >= MAX_SEGMENTS) {
    const parts = await Promise.all(kept.map((segment) => readSegment(workspace, directory, segment)));
    const merged = Buffer.concat([...parts, added]);
    return [await create(workspace, directory, merged, change.keep + messages)];
  }
  if (messages === 0) return kept;
  const last = kept.at(-1);
  if (last !== undefined && (await extend(workspace, `${directory}/${last.file}`, last.bytes, added))) {
    const grown = { ...last, bytes: last.bytes + added.length, messages: last.messages + messages };
    return [...kept.slice(0, -1), grown];
  }
  return [...kept, await create(workspace, directory, added, messages)];
}

/** Appends to a file unless it has bytes after its valid end. Returns whether the append directly follows that end. */
async function extend(workspace: Workspace, path: string, end: number, added: Uint8Array): Promise<boolean> {
  const size = (await workspace.stat(path))?.size ?? 0;
  if (size < end) throw new DamagedFileError(path, `has ${size} bytes, not ${end}`);
  if (size > end) return false;
  await workspace.append(path, added);
  // Another writer that lost the lock without noticing may have appended in between.
  return (await workspace.stat(path))?.size === end + added.length;
}

/** Returns the segments of the first `keep` messages: whole segments, and possibly the beginning of one more. */
async function keepMessages(
  workspace: Workspace,
  directory: string,
  segments: readonly Segment[],
  keep: number,
): Promise<readonly Segment[]> {
  const kept: Segment[] = [];
  let rest = keep;
  for (const segment of segments) {
    if (rest === 0) break;
    if (segment.messages > rest) {
      const text = await readSegment(workspace, directory, segment);
      const bytes = endOfLines(`${directory}/${segment.file}`, text, rest);
      kept.push({ ...segment, bytes, messages: rest });
      break;
    }
    kept.push(segment);
    rest -= segment.messages;
  }
  return kept;
}

async function create(
  workspace: Workspace,
  directory: string,
  data: Uint8Array,
  messages: number,
): Promise<Segment> {
  const file = `segment-${randomBytes(8).toString('hex')}.jsonl`;
  await workspace.append(`${directory}/${file}`, data);
  return { file, bytes: data.length, messages };
}

async function readSegment(workspace: Workspace, directory: string, segment: Segment): Promise<Uint8Array> {
  const path = `${directory}/${segment.file}`;
  const bytes = await ifFound(workspace.read(path, { length: segment.bytes }));
  if (bytes === undefined) throw new DamagedFileError(path, 'is missing');
  if (bytes.length === segment.bytes) return bytes;
  throw new DamagedFileError(path, `has ${bytes.length} bytes, not ${segment.bytes}`);
}

/** Returns the offset after the first `lines` lines. */
function endOfLines(path: string, bytes: Uint8Array, lines: number): number {
  let end = 0;
  for (let line = 0; line < lines; line++) {
    end = bytes.indexOf(NEWLINE, end) + 1;
    if (end === 0) throw new DamagedFileError(path, `has fewer than ${lines} lines`);
  }
  return end;
}
