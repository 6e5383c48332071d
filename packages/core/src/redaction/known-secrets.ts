import { base64 } from '../lib/base64.js';
import { namesSecret } from './secret-patterns.js';

/** Shorter values are words. */
const MIN_LENGTH = 8;
/** Milliseconds for which the environment is taken to be as it was. */
const FRESH_MS = 1_000;

/** The values that a program said are secret. */
const remembered = new Set<string>();
let environment: readonly string[] = [];
let readAt = Number.NEGATIVE_INFINITY;

/** Has values redacted from now on, whatever their form: those that a configuration refers to, for example. */
export function rememberSecrets(values: Iterable<string>): void {
  for (const value of values) for (const form of formsOf(value)) remembered.add(form);
}

/** Lists secrets that are known by their values: those of this process's environment, by their names, and remembered ones. */
export function knownSecrets(): Iterable<string> {
  const now = performance.now();
  if (now - readAt > FRESH_MS) {
    readAt = now;
    const variables = typeof process === 'object' ? Object.entries(process.env ?? {}) : [];
    environment = variables.flatMap(([name, value = '']) => (isSecret(name) ? formsOf(value) : []));
  }
  return [...environment, ...remembered];
}

/** The working directory of a shell is no password. */
function isSecret(name: string): boolean {
  return namesSecret(name) && !/^(?:OLD)?PWD$/.test(name);
}

/** A value as it is, and as URLs, JSON and headers have it. */
function formsOf(value: string): readonly string[] {
  if (value.length < MIN_LENGTH) return [];
  const bytes = new TextEncoder().encode(value);
  const url = encodeURIComponent(new TextDecoder().decode(bytes));
  return [...new Set([value, url, JSON.stringify(value).slice(1, -1), base64(bytes).replace(/={1,2}$/, '')])];
}
