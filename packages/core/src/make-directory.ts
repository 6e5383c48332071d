import { mkdir } from 'node:fs/promises';
import { ABSENT, errorCode } from './io-error.js';

const ATTEMPTS = 20;

/**
 * Makes a directory with those above it, while others may be removing them because they are empty. Answers the topmost
 * one that it made, if any.
 */
export async function makeDirectory(directory: string): Promise<string | undefined> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await mkdir(directory, { recursive: true });
    } catch (error) {
      // One that is removed between two steps of Node is reported as ENOENT or as ENOTDIR.
      if (attempt === ATTEMPTS || !ABSENT.includes(errorCode(error) ?? '')) throw error;
    }
  }
}
