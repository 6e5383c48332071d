import {
  InvalidInputError,
  parseWith,
  readText,
  type Workspace,
  type WorkspaceEntry,
  WorkspaceError,
} from '@x/core';
import type * as z from 'zod';

/** The memory that is rewritten whole and always in front of the agent. */
export const CORE_FILE = 'MEMORY.md';
const FOLDER = 'memory';
const NEWLINE = 10;

/** Whether a path, relative to an agent's prefix, is that of a memory file: `MEMORY.md`, or Markdown below `memory/`. */
export function isMemoryPath(path: string): boolean {
  if (path === CORE_FILE) return true;
  const [first, ...rest] = path.split('/');
  // What begins with a dot is not for reading: states, versions, sections.
  const isPlain = (segment: string) => segment !== '' && !segment.startsWith('.');
  return first === FOLDER && rest.every(isPlain) && /[^/]\.md$/.test(path) && !/[\\\0]/.test(path);
}

/** The file of a day's notes, relative to the prefix. */
export function dailyFile(day: string): string {
  return `${FOLDER}/${day}.md`;
}

/** All memory files below a prefix: MEMORY.md, then the others in order of their paths. */
export async function* memoryFiles(workspace: Workspace, prefix: string): AsyncIterable<WorkspaceEntry> {
  const core = await workspace.stat(`${prefix}${CORE_FILE}`);
  if (core?.type === 'file') yield core;
  for await (const entry of workspace.list(`${prefix}${FOLDER}`, { recursive: true })) {
    if (entry.type === 'file' && isMemoryPath(entry.path.slice(prefix.length))) yield entry;
  }
}

/** A file's text; `undefined` when there is none that may be read. */
export function readIfFound(workspace: Pick<Workspace, 'read'>, path: string): Promise<string | undefined> {
  return readText(workspace, path).catch((error: unknown) => {
    if (WorkspaceError.isInstance(error) && ['not_found', 'refused'].includes(error.code)) return undefined;
    throw error;
  });
}

/**
 * A state that an earlier process left, if any.
 * @throws {InvalidInputError} for a file that is no such state, with `remedy`.
 */
export async function readJson<Schema extends z.ZodType>(
  workspace: Workspace,
  path: string,
  schema: Schema,
  remedy: string,
): Promise<z.output<Schema> | undefined> {
  const text = await readIfFound(workspace, path);
  if (text === undefined) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // Refused below, with the path of the file.
  }
  return parseWith(schema, value, path, remedy);
}

/** Passes over a broken state, with a warning: answers `undefined` for it. */
export function ifWhole<T>(reading: Promise<T>): Promise<T | undefined> {
  return reading.catch((error: unknown) => {
    if (!InvalidInputError.isInstance(error)) throw error;
    process.emitWarning(error.message, { code: 'X_MEMORY_BROKEN_FILE' });
    return undefined;
  });
}

export async function writeJson(workspace: Workspace, path: string, value: unknown): Promise<void> {
  await workspace.write(path, `${JSON.stringify(value)}\n`);
}

/** Adds to the end of a file, on a line of its own. */
export async function appendLine(workspace: Workspace, path: string, line: string): Promise<void> {
  const size = (await workspace.stat(path))?.size ?? 0;
  const [last] = size === 0 ? [NEWLINE] : await workspace.read(path, { offset: size - 1 });
  await workspace.append(path, `${last === NEWLINE ? '' : '\n'}${line}\n`);
}

/** A file that changed so short a time ago may change once more without another time. */
const UNSURE_MS = 20;

/** What tells that a file has not changed since, without reading it; `null` when it may be changing now. */
export function markOf({ size, modifiedAt }: WorkspaceEntry): string | null {
  const age = Date.now() - Date.parse(modifiedAt);
  return Math.abs(age) < UNSURE_MS ? null : `${size} ${modifiedAt}`;
}

const OWN = [CORE_FILE, FOLDER, 'sessions'];
const LEVELS = ['tenants', 'users', 'agents'] as const;

/** All places in a workspace where a tenant, user or agent may have a memory or sessions. Each is empty or ends with `/`. */
export async function* memoryPrefixes(
  workspace: Workspace,
  prefix = '',
  level = 0,
): AsyncGenerator<string, void, undefined> {
  for await (const { path } of workspace.list(prefix)) {
    const name = path.slice(prefix.length);
    if (!OWN.includes(name)) continue;
    yield prefix;
    break;
  }
  for (const [index, folder] of LEVELS.entries()) {
    if (index < level) continue;
    for await (const { path, type } of workspace.list(`${prefix}${folder}`)) {
      if (type === 'directory') yield* memoryPrefixes(workspace, `${path}/`, index + 1);
    }
  }
}
