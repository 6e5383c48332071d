import { readdir, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { unreadable } from '../../read-input.js';

/** Log folders of known agents, relative to the home directory. */
const KNOWN_FOLDERS = [
  ['Claude Code', '.claude/projects'],
  ['Codex', '.codex/sessions'],
  ['pi', '.pi/agent/sessions'],
  ['Gemini CLI', '.gemini/tmp'],
  ['Qwen Code', '.qwen/projects'],
  ['Copilot CLI', '.copilot/session-state'],
] as const;

const LOG = /\.jsonl?$/;
/** Matches JSON files that are not logs: the state of a session in a store, and files of Gemini CLI outside its chats. */
const IGNORED = /[\\/](?:context[\\/][^\\/]+[\\/](?:head|segment)|\.gemini[\\/]tmp[\\/][^\\/]+[\\/])[^\\/]*$/;

/** A file that may be a log. */
export interface LogFile {
  readonly path: string;
  readonly bytes: number;
  readonly modifiedMs: number;
}

/**
 * Finds logs: the named files, and all JSON files in the named folders, the latest first within a folder. `-` is standard input.
 *
 * @throws {UsageError} for a name that does not exist or cannot be read.
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
    if (!info.isDirectory()) return [{ path, bytes: info.size, modifiedMs: info.mtimeMs }];
    // A named folder must be readable; its subfolders need not be.
    await readdir(path);
    return newestFirst(await logsBelow(path));
  } catch (error) {
    throw unreadable(path, error);
  }
}

/** Finds the logs of known agents on this machine, the latest first. */
export async function foundLogs(home: string = homedir()): Promise<readonly LogFile[]> {
  const found = await Promise.all(KNOWN_FOLDERS.map(([, folder]) => logsBelow(join(home, folder))));
  return newestFirst(found.flat());
}

/** Describes the folders that {@link foundLogs} searches. */
export const knownFolders = KNOWN_FOLDERS.map(([name, folder]) => `${name} (~/${folder})`).join(', ');

/** Finds logs recursively. Skips folders that cannot be read. */
async function logsBelow(folder: string): Promise<readonly LogFile[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const found = await Promise.all(
    entries.map(async (entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return logsBelow(path);
      const isLog = entry.isFile() && LOG.test(entry.name) && !IGNORED.test(path);
      const info = isLog && (await stat(path).catch(() => undefined));
      return info ? [{ path, bytes: info.size, modifiedMs: info.mtimeMs }] : [];
    }),
  );
  return found.flat();
}

function newestFirst(files: readonly LogFile[]): readonly LogFile[] {
  return [...files].sort(
    (left, right) => right.modifiedMs - left.modifiedMs || left.path.localeCompare(right.path),
  );
}
