import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { errorText } from '@x/core/internal';
import { type Document, parseDocument } from 'yaml';
import { UsageError } from './command.js';

/** A file's text, or with `-` what comes through standard input. @throws {UsageError} when it cannot be read. */
export async function readInput(file: string): Promise<string> {
  if (file === '-') return text(process.stdin);
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw unreadable(file, error);
  }
}

/** Reads a file of YAML, or of JSON. @throws {UsageError} for what is neither, with the place. */
export async function readYaml(file: string): Promise<unknown> {
  return (await readDocument(file)).toJS({ maxAliasCount: 100 });
}

/** Reads such a file with its comments, to be written again. */
export async function readDocument(file: string): Promise<Document.Parsed> {
  // JSON is YAML too.
  const document = parseDocument(await readInput(file), { logLevel: 'error' });
  const [error] = document.errors;
  if (error !== undefined) throw new UsageError(`${file} is not valid YAML: ${error.message}`);
  return document;
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file or folder',
  EISDIR: 'it is a folder',
  EACCES: 'you may not read it',
};

/** Says of a file or folder why it cannot be read. */
export function unreadable(path: string, error: unknown): UsageError {
  const { code = '' } = error as NodeJS.ErrnoException;
  return new UsageError(`${path} cannot be read: ${REASONS[code] ?? errorText(error)}.`);
}
