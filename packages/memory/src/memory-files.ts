import { isUtf8 } from 'node:buffer';
import { InvalidInputError, readText, type Workspace, WorkspaceError } from '@x/core';
import {
  decodeSegment,
  encodeSegment,
  isObject,
  parsedJson,
  parseWith,
  prefixesWithin,
} from '@x/core/internal';
import type { WorkspaceEntry } from '@x/core/store';
import type * as z from 'zod';
import { MemoryFormatError } from './errors.js';

/** The memory file that is always in the system prompt. */
export const CORE_FILE = 'MEMORY.md';
const FOLDER = 'memory';

/** Tests whether a path below an agent's prefix is a memory file: `MEMORY.md`, or Markdown below `memory/`. */
export function isMemoryPath(path: string): boolean {
  if (path === CORE_FILE) return true;
  const [first, ...rest] = path.split('/');
  // Names that begin with a dot are internal: states, the previous version of MEMORY.md, snapshots.
  const isPlain = (segment: string) => segment !== '' && !segment.startsWith('.');
  return first === FOLDER && rest.every(isPlain) && /[^/]\.md$/.test(path) && !/[\\\0]/.test(path);
}

/** The file of a day's notes, relative to the prefix. */
export function dailyFile(day: string): string {
  return `${FOLDER}/${day}.md`;
}

/** Lists all memory files below a prefix: MEMORY.md, then the others, sorted by path. */
export async function* memoryFiles(workspace: Workspace, prefix: string): AsyncIterable<WorkspaceEntry> {
  const core = await workspace.stat(`${prefix}${CORE_FILE}`);
  if (core?.type === 'file') yield core;
  for await (const entry of workspace.list(`${prefix}${FOLDER}`, { recursive: true })) {
    if (entry.type === 'file' && isMemoryPath(entry.path.slice(prefix.length))) yield entry;
  }
}

/**
 * Returns a directory that no agent reads because its names are not encoded: the prefix itself, or the directory with plain names that a
 * person has created next to it. Returns `undefined` if there is none.
 */
export async function unreadPrefix(workspace: Workspace, prefix: string): Promise<string | undefined> {
  const isEncoded = (name: string) => name.includes('%_') || encodeSegment(decodeSegment(name)) === name;
  if (!prefix.split('/').every(isEncoded)) return prefix;
  const plain = prefix.split('/').map(decodeSegment).join('/');
  const isThere = plain !== prefix && (await readIfFound(workspace, `${plain}${CORE_FILE}`)) !== undefined;
  return isThere ? plain : undefined;
}

/** Reads a file. Returns `undefined` if it does not exist or access is denied. */
export function readIfFound(workspace: Pick<Workspace, 'read'>, path: string): Promise<string | undefined> {
  return unlessMissing(readText(workspace, path));
}

/** Largest MEMORY.md in bytes. Each step of an agent compares all of its lines, so a larger file would block the process. */
export const MAX_CORE_BYTES = 256_000;

/**
 * Reads MEMORY.md. Returns an empty text if there is no file.
 *
 * @throws {InvalidInputError} if the file is too large.
 */
export async function readCore(workspace: Workspace, prefix: string): Promise<string> {
  return (await readEdited(workspace, `${prefix}${CORE_FILE}`, MAX_CORE_BYTES)) ?? '';
}

/** Like {@link readIfFound}, for files that people edit. Their editor may save UTF-16, or single lines in Windows-1252. */
export async function readEdited(
  workspace: Workspace,
  path: string,
  maxBytes = Number.POSITIVE_INFINITY,
): Promise<string | undefined> {
  const bytes = await unlessMissing(workspace.read(path));
  if (bytes === undefined) return undefined;
  if (bytes.length > maxBytes) {
    const message = `has ${bytes.length} bytes, and may have at most ${maxBytes}. Move some of its text to another Markdown file in ${FOLDER}/`;
    throw new InvalidInputError(path, [{ path: '', message }]);
  }
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return new TextDecoder('utf-16le').decode(bytes);
  if (isUtf8(bytes)) return new TextDecoder().decode(bytes);
  const lines = Buffer.from(bytes).toString('latin1').split('\n');
  const decode = (line: Buffer) => new TextDecoder(isUtf8(line) ? 'utf-8' : 'windows-1252').decode(line);
  return lines.map((line) => decode(Buffer.from(line, 'latin1'))).join('\n');
}

function unlessMissing<T>(reading: Promise<T>): Promise<T | undefined> {
  return reading.catch((error: unknown) => {
    if (WorkspaceError.isInstance(error) && ['not_found', 'refused'].includes(error.code)) return undefined;
    throw error;
  });
}

/** The format of all JSON files of a memory. Raise it when the stored data changes. */
const FORMAT = 1;

/**
 * Reads a stored JSON file. Returns `undefined` if there is none.
 * @throws {InvalidInputError} with `remedy` when the file is damaged.
 * @throws {MemoryFormatError} when a newer release wrote it.
 */
export async function readJson<Schema extends z.ZodType>(
  workspace: Workspace,
  path: string,
  schema: Schema,
  remedy: string,
): Promise<z.output<Schema> | undefined> {
  const text = await readIfFound(workspace, path);
  if (text === undefined) return undefined;
  const value = parsedJson(text);
  const format = isObject(value) ? value.format : undefined;
  if (typeof format === 'number' && format > FORMAT) throw new MemoryFormatError(path, format, FORMAT);
  return parseWith(schema, format === FORMAT ? value : null, path, remedy);
}

/** Returns `undefined` and warns if the file is damaged. */
export function ifWhole<T>(reading: Promise<T>): Promise<T | undefined> {
  return reading.catch((error: unknown) => {
    if (!InvalidInputError.isInstance(error)) throw error;
    process.emitWarning(error.message, { code: 'X_MEMORY_BROKEN_FILE' });
    return undefined;
  });
}

export async function writeJson(workspace: Workspace, path: string, value: object): Promise<void> {
  await workspace.write(path, `${JSON.stringify({ ...value, format: FORMAT })}\n`);
}

/** Marks a line that a crash truncated. */
export const CUT_MARK = '<!-- cut off -->';

/** Appends the lines that a file does not contain yet. Can be repeated, even after a crash that wrote part of a line. */
export async function appendLines(
  workspace: Workspace,
  path: string,
  lines: readonly string[],
): Promise<void> {
  const known = ((await readIfFound(workspace, path)) ?? '').split('\n');
  const torn = known.pop() ?? '';
  const missing = lines.filter((line) => !known.includes(line)).map((line) => `${line}\n`);
  if (missing.length === 0) return;
  // The crash may have truncated a character in the middle of its bytes.
  const whole = torn.replace(/(?<!\uFFFD)\uFFFD+$/, '');
  const isCut = missing.some((line) => line.startsWith(whole));
  const end = torn === '' ? '' : isCut ? ` ${CUT_MARK}\n` : '\n';
  await workspace.append(path, `${end}${missing.join('')}`);
}

/** A file that changed this recently may change again with the same timestamp. */
const UNSURE_MS = 20;

/** Returns a mark that changes with the file, or `null` if the file may be changing right now. */
export function markOf({ size, modifiedAt }: WorkspaceEntry): string | null {
  const age = Date.now() - Date.parse(modifiedAt);
  return Math.abs(age) < UNSURE_MS ? null : `${size} ${modifiedAt}`;
}

const OWN = [CORE_FILE, FOLDER, 'sessions'];

/** Lists all directories in a workspace where a tenant, user or agent may have a memory or sessions. Each is empty or ends with `/`. */
export async function* memoryPrefixes(workspace: Workspace): AsyncGenerator<string, void, undefined> {
  for await (const prefix of prefixesWithin(workspace, {})) {
    for await (const { path } of workspace.list(prefix)) {
      if (!OWN.includes(path.slice(prefix.length))) continue;
      yield prefix;
      break;
    }
  }
}
