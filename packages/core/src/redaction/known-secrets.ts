import { base64 } from '../lib/base64.js';
import { namesSecret } from './secret-names.js';

/** Minimum length of a known secret. Shorter values may be ordinary words. */
const MIN_LENGTH = 8;
/** Milliseconds for which the values of the environment are cached. */
const FRESH_MS = 1_000;

/** Values that {@link rememberSecrets} has marked as secret, in all forms. */
const remembered = new Set<string>();
let environment: readonly string[] = [];
let readAt = Number.NEGATIVE_INFINITY;

/** Redacts these values from now on, in all forms. Call it for the values that a configuration refers to, for example. */
export function rememberSecrets(values: Iterable<string>): void {
  for (const value of values) for (const form of formsOf(value)) remembered.add(form);
}

/** Lists the values of all known secrets: environment variables with secret names, and remembered values. */
export function knownSecrets(): Iterable<string> {
  const now = performance.now();
  if (now - readAt > FRESH_MS) {
    readAt = now;
    const variables = typeof process === 'object' ? Object.entries(process.env ?? {}) : [];
    environment = variables.flatMap(([name, value = '']) => (isSecret(name) ? formsOf(value) : []));
  }
  return [...environment, ...remembered];
}

/** Tests if an environment variable is secret by its name. `PWD` is a shell's working directory, not a password. */
function isSecret(name: string): boolean {
  return namesSecret(name) && !/^(?:OLD)?PWD$/.test(name);
}

/** Returns a value as it is, and as it appears in URLs, JSON and headers. */
function formsOf(value: string): readonly string[] {
  if (value.length < MIN_LENGTH) return [];
  const bytes = new TextEncoder().encode(value);
  const url = encodeURIComponent(new TextDecoder().decode(bytes));
  return [...new Set([value, url, JSON.stringify(value).slice(1, -1), base64(bytes).replace(/={1,2}$/, '')])];
}
