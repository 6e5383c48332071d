import { mkdirSync, statSync } from 'node:fs';
import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { ABSENT, errorCode } from './io-error.js';

const ATTEMPTS = 20;

/**
 * Makes a directory with those above it, while others may be removing them because they are empty. Answers the topmost
 * one that it made, if any.
 *
 * One level at a time: Node's own `recursive` never returns where the file system answers ENOENT for a directory that
 * exists, as /proc does (seen in Node 20).
 */
export async function makeDirectory(directory: string): Promise<string | undefined> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await makeLevel(directory);
    } catch (error) {
      // A directory above that was removed between two steps.
      if (attempt === ATTEMPTS || !ABSENT.includes(errorCode(error) ?? '')) throw error;
    }
  }
}

async function makeLevel(directory: string): Promise<string | undefined> {
  try {
    await mkdir(directory);
    return directory;
  } catch (error) {
    if (errorCode(error) === 'EEXIST' && (await stat(directory)).isDirectory()) return undefined;
    const above = dirname(directory);
    if (errorCode(error) !== 'ENOENT' || above === directory) throw error;
    const topmost = await makeLevel(above);
    await mkdir(directory).catch(unlessMeanwhileMade);
    return topmost ?? directory;
  }
}

/** {@link makeDirectory}, synchronously and for directories that nobody removes. */
export function makeDirectorySync(directory: string): void {
  try {
    mkdirSync(directory);
  } catch (error) {
    if (errorCode(error) === 'EEXIST' && statSync(directory).isDirectory()) return;
    const above = dirname(directory);
    if (errorCode(error) !== 'ENOENT' || above === directory) throw error;
    makeDirectorySync(above);
    mkdirSync(directory);
  }
}

function unlessMeanwhileMade(error: unknown): void {
  if (errorCode(error) !== 'EEXIST') throw error;
}
