import { lstat, readdir, readFile } from 'node:fs/promises';
import { basename, join, relative } from 'node:path';
import { SessionKey, type Workspace } from '@x/core';
import { sessionPrefix } from '@x/core/store';
import { type Command, command, commandGroup, UsageError } from '../command.js';
import { identityOptions, openWorkspace, scopeOf } from '../identity-options.js';
import { unreadable } from '../read-input.js';

const importCommand = command({
  name: 'memory import',
  takes: 'FILE…',
  options: identityOptions,
  summary: "Imports MEMORY.md files and folders of notes into an agent's memory. Never overwrites a file.",
  examples: ['x memory import MEMORY.md memory/ --agent MyAgent --user alice@example.com'],
  async run({ values, positionals, output }) {
    const storage = openWorkspace(values);
    const prefix = sessionPrefix(SessionKey.of({ ...scopeOf(values), sessionId: 'any' }));
    const files = (await Promise.all(positionals.map(notesAt))).flat();
    if (files.length === 0)
      throw new UsageError(
        `There are no Markdown files in ${positionals.join(', ')}. Name MEMORY.md, or a folder of notes.`,
      );
    const existing = await findExisting(
      storage,
      files.map(({ place }) => `${prefix}${place}`),
    );
    if (existing.length > 0)
      throw new UsageError(`These files already exist: ${existing.join(', ')}. Nothing was imported.`);
    for (const { place, path } of files) await storage.write(`${prefix}${place}`, await readFile(path));
    output.write(
      `Imported ${files.length} ${files.length === 1 ? 'file' : 'files'} into .x/${prefix} of the workspace.\n`,
    );
  },
});

/** Imports files into a memory. */
export const memory: Command = commandGroup({
  name: 'memory',
  takes: 'import FILE…',
  options: {},
  summary: "Imports files into an agent's memory.",
  examples: importCommand.examples,
  subcommands: [importCommand],
});

/** Finds the Markdown files at a path, with their paths in a memory. */
async function notesAt(path: string): Promise<readonly { readonly path: string; readonly place: string }[]> {
  try {
    const found = await lstat(path);
    if (!found.isDirectory()) {
      if (!found.isFile()) throw new UsageError(`${path} is not a file. Links are not followed.`);
      const name = basename(path);
      return [{ path, place: name === 'MEMORY.md' ? name : `memory/${name}` }];
    }
    const entries = await readdir(path, { recursive: true, withFileTypes: true });
    // Symbolic links are not followed.
    return entries
      .filter((entry) => entry.isFile() && entry.name.endsWith('.md'))
      .map((entry) => join(entry.parentPath, entry.name))
      .map((file) => ({ path: file, place: `memory/${relative(path, file)}` }));
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw unreadable(path, error);
  }
}

async function findExisting(storage: Workspace, paths: readonly string[]): Promise<readonly string[]> {
  const found = await Promise.all(paths.map((path) => storage.stat(path)));
  return paths.filter((_, index) => found[index] !== undefined);
}
