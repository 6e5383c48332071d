import { readFile, writeFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { InvalidInputError } from '@x/core';
import { errorText, refuseDepth } from '@x/core/internal';
import { type Document, parseDocument } from 'yaml';
import { UsageError } from './command.js';

/** Reads a file's text, or standard input for `-`. @throws {UsageError} if it cannot be read. */
export async function readInput(file: string): Promise<string> {
  if (file === '-') return text(process.stdin);
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw unreadable(file, error);
  }
}

/** Writes a file. With the flag `wx`, the file must be new. @throws {UsageError} if it cannot be written. */
export async function writeOutput(file: string, content: string, flag: 'w' | 'wx' = 'w'): Promise<void> {
  await writeFile(file, content, { flag }).catch((error: unknown) => {
    throw new UsageError(`${file} cannot be written: ${errorText(error)}`);
  });
}

/**
 * Parses a YAML or JSON file.
 *
 * @throws {UsageError} with the position of the error if the file is not valid.
 * @throws {InvalidInputError} if aliases cannot be resolved, are too many, or contain themselves.
 */
export async function readYaml(file: string): Promise<unknown> {
  const document = await readDocument(file);
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: 100 });
  } catch (cause) {
    const message = `is not valid YAML: ${errorText(cause)}`;
    throw new InvalidInputError(file, [{ path: '', message }], { cause });
  }
  refuseDepth(value, file);
  return value;
}

/** Parses a YAML or JSON file including its comments, so that it can be written again. */
export async function readDocument(file: string): Promise<Document.Parsed> {
  // JSON is a subset of YAML.
  const document = parseDocument(await readInput(file), { logLevel: 'error' });
  const [error] = document.errors;
  if (error !== undefined) throw new UsageError(`${file} is not valid YAML: ${error.message}`);
  return document;
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file or folder',
  EISDIR: 'it is a folder',
  EACCES: 'permission denied',
};

/** Returns the error for a file or folder that cannot be read. */
export function unreadable(path: string, error: unknown): UsageError {
  const { code = '' } = error as NodeJS.ErrnoException;
  return new UsageError(`${path} cannot be read: ${REASONS[code] ?? errorText(error)}.`);
}
