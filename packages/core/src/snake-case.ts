import { InvalidInputError, type Issue } from './errors/invalid-input-error.js';

const CAMEL_WORD = /\b[a-z]+\d*(?:[A-Z][a-z0-9]*)+\b/g;

/** `keepMessages` → `keep_messages` */
export function toSnakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/**
 * The same data with the keys of all objects in camelCase.
 *
 * @throws {InvalidInputError} naming every key with capitals: files are written in snake_case alone, so that no key can
 *   be there twice.
 */
export function withCamelKeys(value: unknown, subject: string): unknown {
  const issues: Issue[] = [];
  const converted = convert(value, '', issues);
  if (issues.length > 0) throw new InvalidInputError(subject, issues);
  return converted;
}

function convert(value: unknown, path: string, issues: Issue[]): unknown {
  if (Array.isArray(value)) return value.map((item, index) => convert(item, `${path}[${index}]`, issues));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, item]) => {
    const at = path ? `${path}.${key}` : key;
    if (/[A-Z]/.test(key)) issues.push({ path: at, message: `unknown key; files write ${toSnakeCase(key)}` });
    return [toCamel(key), convert(item, at, issues)];
  });
  return Object.fromEntries(entries);
}

function toCamel(name: string): string {
  return name.replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

/** The same error about the file: paths, and keys that messages name, in snake_case. */
export function withSnakeIssues({ subject, issues }: InvalidInputError): InvalidInputError {
  return new InvalidInputError(
    subject,
    issues.map(({ path, message }) => ({
      path: toSnakeCase(path),
      message: message.replaceAll(CAMEL_WORD, toSnakeCase),
    })),
  );
}
