import { readText, type Workspace, type WorkspaceEntry, WorkspaceError } from '@x/core';

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

/** A file's text; `undefined` when there is none. */
export async function readIfFound(workspace: Workspace, path: string): Promise<string | undefined> {
  try {
    return await readText(workspace, path);
  } catch (error) {
    if (WorkspaceError.isInstance(error) && error.code === 'not_found') return undefined;
    throw error;
  }
}

/** Adds to the end of a file, on a line of its own. */
export async function appendLine(workspace: Workspace, path: string, line: string): Promise<void> {
  const size = (await workspace.stat(path))?.size ?? 0;
  const [last] = size === 0 ? [NEWLINE] : await workspace.read(path, { offset: size - 1 });
  await workspace.append(path, `${last === NEWLINE ? '' : '\n'}${line}\n`);
}
