import type { z } from 'zod';
import { InvalidInputError, type Issue } from './errors/invalid-input-error.js';

/**
 * Validates `value` at the edge of the system.
 *
 * @throws {InvalidInputError} naming the path of every bad field.
 */
export function parseWith<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  subject: string,
  remedy?: string,
): z.output<Schema> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw new InvalidInputError(
    subject,
    result.error.issues.map(toIssue),
    remedy === undefined ? {} : { remedy },
  );
}

function toIssue(issue: z.core.$ZodIssue): Issue {
  return { path: formatPath(issue.path), message: issue.message };
}

/** `['context', 3, 'text']` → `context[3].text` */
export function formatPath(path: readonly PropertyKey[]): string {
  let text = '';
  for (const key of path) {
    if (typeof key === 'number') text += `[${key}]`;
    else text += text ? `.${String(key)}` : String(key);
  }
  return text;
}
