import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { errorText } from '@x/core';
import { UsageError } from './command.js';

/** A file's text, or with `-` what comes through standard input. @throws {UsageError} when it cannot be read. */
export async function readInput(file: string): Promise<string> {
  if (file === '-') return text(process.stdin);
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new UsageError(`${file} cannot be read: ${errorText(error)}`);
  }
}
