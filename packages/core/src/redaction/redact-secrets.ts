import type { JsonObject, JsonValue } from '../lib/json.js';
import { hintedPatterns } from './secret-hints.js';
import { namesSecret, SECRET_PATTERNS, type SecretPattern } from './secret-patterns.js';

/** Takes secrets out of a text. Never throws; a text without any is answered as it is. */
export type Redact = (text: string) => string;

/** Replaces common secrets in a text by `[redacted:kind]`. */
export const redactSecrets: Redact = secretRedactor();

/** A {@link Redact} for common secrets and, looked for before them, those that `patterns` match. */
export function secretRedactor(patterns: readonly SecretPattern[] = []): Redact {
  const own = patterns.map(searchedEverywhere);
  return (text) => {
    const rest = own.reduce(replaceAll, text);
    const hinted = hintedPatterns(rest);
    if (hinted === 0) return rest;
    // What stands for a secret never makes a later pattern match: a bracket ends it.
    return SECRET_PATTERNS.reduce(
      (result, pattern, index) => (hinted & (1 << index) ? replaceAll(result, pattern) : result),
      rest,
    );
  };
}

/** The value with secrets taken out of every string, and with the values of fields that are named as secrets are. */
export function redactJson(value: JsonValue, redact: Redact = redactSecrets): JsonValue {
  if (typeof value === 'string') return redact(value);
  if (Array.isArray(value)) {
    const items = value.map((item: JsonValue) => redactJson(item, redact));
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  if (!isObject(value)) return value;
  const entries = Object.entries(value);
  const redacted = entries.map(([key, item]) => {
    const secret = typeof item === 'string' && item !== '' && namesSecret(key);
    return [key, secret ? '[redacted:secret]' : redactJson(item, redact)] as const;
  });
  return redacted.some(([, item], index) => item !== entries[index]?.[1])
    ? Object.fromEntries(redacted)
    : value;
}

function isObject(value: JsonValue): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function searchedEverywhere({ kind, pattern }: SecretPattern): SecretPattern {
  return { kind, pattern: new RegExp(pattern.source, `${pattern.flags.replaceAll(/[gy]/g, '')}g`) };
}

function replaceAll(text: string, { kind, pattern }: SecretPattern): string {
  const mark = `[redacted:${kind}]`;
  return text.replace(pattern, (match: string, ...rest: unknown[]) => {
    if (match === '') return '';
    const groups = rest.at(-1) as Readonly<Record<string, string | undefined>> | string;
    const secret = typeof groups === 'string' ? undefined : groups.secret;
    if (secret === undefined) return mark;
    // It is the last part of what matched, but for a closing character.
    const start = match.lastIndexOf(secret);
    return match.slice(0, start) + mark + match.slice(start + secret.length);
  });
}
