import { readdir, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { errorText } from '@x/core';
import { UsageError } from '../../command.js';

/** The folders where agents keep their logs, below the home directory. */
const KNOWN_FOLDERS = [
  ['Claude Code', '.claude/projects'],
  ['Codex', '.codex/sessions'],
  ['pi', '.pi/agent/sessions'],
] as const;

const LOG = /\.jsonl?$/;

/** A file that may be a log. */
export interface LogFile {
  readonly path: string;
  readonly bytes: number;
  readonly modifiedMs: number;
}

/**
 * Finds logs: the named files, and all JSON files in the named folders; the latest first within a folder. `-` is standard
 * input.
 *
 * @throws {UsageError} for a name that is neither.
 */
export async function namedLogs(names: readonly string[]): Promise<readonly LogFile[]> {
  const found: LogFile[] = [];
  for (const name of names) {
    if (name === '-') found.push({ path: name, bytes: 0, modifiedMs: 0 });
    else found.push(...(await logsAt(name)));
  }
  return found;
}

async function logsAt(path: string): Promise<readonly LogFile[]> {
  try {
    const info = await stat(path);
    if (info.isDirectory()) return logsBelow(path);
    return [{ path, bytes: info.size, modifiedMs: info.mtimeMs }];
  } catch (error) {
    throw new UsageError(`${path} cannot be read: ${errorText(error)}`);
  }
}

/** Finds the logs of agents that are known to keep some on this machine, the latest first. */
export async function foundLogs(home: string = homedir()): Promise<readonly LogFile[]> {
  const found = await Promise.all(KNOWN_FOLDERS.map(([, folder]) => logsBelow(join(home, folder))));
  return newestFirst(found.flat());
}

/** Words for the places where {@link foundLogs} looks. */
export const knownFolders = KNOWN_FOLDERS.map(([name, folder]) => `${name} (~/${folder})`).join(', ');

async function logsBelow(folder: string): Promise<readonly LogFile[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const files = entries.filter((entry) => entry.isFile() && LOG.test(entry.name));
  const found = await Promise.all(
    files.map(async ({ parentPath, name }) => {
      const path = join(parentPath, name);
      const info = await stat(path).catch(() => undefined);
      return info === undefined ? [] : [{ path, bytes: info.size, modifiedMs: info.mtimeMs }];
    }),
  );
  return newestFirst(found.flat());
}

function newestFirst(files: readonly LogFile[]): readonly LogFile[] {
  return [...files].sort(
    (left, right) => right.modifiedMs - left.modifiedMs || left.path.localeCompare(right.path),
  );
}
