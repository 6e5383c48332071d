import type * as z from 'zod';
import { InvalidInputError, type Issue } from '../errors/invalid-input-error.js';

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
  throw new InvalidInputError(subject, issuesOf(result.error), remedy === undefined ? {} : { remedy });
}

/** Lists the problems that zod found, each with its path. */
export function issuesOf(error: z.ZodError): readonly Issue[] {
  return error.issues.flatMap(toIssues);
}

function toIssues(issue: z.core.$ZodIssue): Issue[] {
  // zod reports unknown keys at the object that has them; the path should lead to the key.
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({ path: formatPath([...issue.path, key]), message: 'unknown key' }));
  }
  // "Invalid input" alone does not help: say what each alternative would have taken.
  if (issue.code === 'invalid_union' && issue.errors.length > 0) {
    return [{ path: formatPath(issue.path), message: alternatives(issue.errors) }];
  }
  return [{ path: formatPath(issue.path), message: issue.message }];
}

function alternatives(errors: readonly (readonly z.core.$ZodIssue[])[]): string {
  const messages = errors.map((issues) =>
    issues
      .flatMap(toIssues)
      .map(({ path, message }) => (path ? `${path}: ${message}` : message))
      .join(', '),
  );
  return `fits none of its forms (${[...new Set(messages)].join('; or ')})`;
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
