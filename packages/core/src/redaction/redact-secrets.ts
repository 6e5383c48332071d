import { isObject, type JsonValue, mapChildren } from '../lib/json.js';
import { withoutAssigned } from './assigned-secrets.js';
import { knownSecrets } from './known-secrets.js';
import { namesSecret, SECRET_NAME } from './secret-names.js';
import { SECRET_PATTERNS, type SecretPattern } from './secret-patterns.js';

/** Removes secrets from a text. Never throws; returns a text without secrets unchanged. */
export type Redact = (text: string) => string;

/**
 * Replaces common secrets in a text by `[redacted:kind]`. Also replaces the values of environment variables with secret names, in any
 * encoding.
 *
 * @example
 * ```ts
 * redactSecrets('DB_PASSWORD=hunter2-secret'); // 'DB_PASSWORD=[redacted:secret]'
 * ```
 */
export const redactSecrets: Redact = secretRedactor();

/** Creates a {@link Redact} for common secrets. It replaces matches of `patterns` first. */
export function secretRedactor(patterns: readonly SecretPattern[] = []): Redact {
  const own = patterns.map(searchedEverywhere);
  return (text) => {
    const rest = own.reduce(replaceAll, withoutKnown(text));
    const hinted = hintedPatterns(rest);
    // No later pattern matches a placeholder, because its bracket ends every match.
    return SECRET_PATTERNS.reduce(
      (result, pattern, index) => (hinted & (1 << index) ? replaceAll(result, pattern) : result),
      rest,
    );
  };
}

function withoutKnown(text: string): string {
  let rest = text;
  for (const secret of knownSecrets())
    if (rest.includes(secret)) rest = rest.replaceAll(secret, '[redacted:secret]');
  return rest;
}

/** Redacts every string of a value, and all values in fields with secret names. */
export function redactJson(value: JsonValue, redact: Redact = redactSecrets): JsonValue {
  if (typeof value === 'string') return redact(value);
  // The name may be a value, too, and its secret the field next to it.
  const isPair =
    isObject(value) &&
    Object.entries(value).some(
      ([key, item]) => /^(?:name|key)$/i.test(key) && typeof item === 'string' && namesSecret(item),
    );
  return mapChildren(value, (item, key) => {
    const isSecret = namesSecret(key) || (isPair && /^value$/i.test(key));
    return isSecret ? withoutLeaves(item) : redactJson(item, redact);
  });
}

/** Redacts every text and number of a value. */
function withoutLeaves(value: JsonValue): JsonValue {
  const isLeaf = typeof value === 'number' || (typeof value === 'string' && value !== '');
  return isLeaf ? '[redacted:secret]' : mapChildren(value, withoutLeaves);
}

function searchedEverywhere({ kind, pattern }: SecretPattern): SecretPattern {
  return { kind, pattern: new RegExp(pattern.source, `${pattern.flags.replaceAll(/[gy]/g, '')}g`) };
}

function replaceAll(text: string, { kind, pattern }: SecretPattern): string {
  if (pattern === SECRET_NAME) return withoutAssigned(text);
  const mark = `[redacted:${kind}]`;
  return text.replace(pattern, (match: string, ...rest: unknown[]) => {
    if (match === '') return '';
    const groups = rest.at(-1) as Readonly<Record<string, string | undefined>> | string;
    const secret = typeof groups === 'string' ? undefined : groups.secret;
    if (secret === undefined) return mark;
    // The secret is the last part of the match, except for a closing character.
    const start = match.lastIndexOf(secret);
    return match.slice(0, start) + mark + match.slice(start + secret.length);
  });
}

/**
 * Number of bits kept of a UTF-16 unit. The lower five are the same for both cases of a letter. Other characters may share them, so a hint
 * is not a proof.
 */
const UNIT_BITS = 5;
const UNIT = (1 << UNIT_BITS) - 1;
const WINDOW = (1 << (3 * UNIT_BITS)) - 1;

/** For each window of three units, the patterns (as bits) that may match there. */
const patternsAt = new Uint32Array(WINDOW + 1);
SECRET_PATTERNS.forEach(({ hints }, index) => {
  for (const hint of hints) {
    const window = [...hint].reduce((bits, unit) => shifted(bits, unit.charCodeAt(0)), 0);
    patternsAt[window] = (patternsAt[window] ?? 0) | (1 << index);
  }
});

/**
 * Returns the {@link SECRET_PATTERNS} that may match a text, as bits. Few texts contain a secret, and these searches cost a fraction of
 * searching for every pattern.
 */
export function hintedPatterns(text: string): number {
  let window = 0;
  let patterns = 0;
  for (let index = 0; index < text.length; index++) {
    window = shifted(window, text.charCodeAt(index));
    patterns |= patternsAt[window] as number;
  }
  return patterns;
}

function shifted(window: number, code: number): number {
  return ((window << UNIT_BITS) | (code & UNIT)) & WINDOW;
}
