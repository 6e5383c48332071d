import * as z from 'zod';
import { InvalidInputError, type Issue } from '../errors/invalid-input-error.js';
import { editDistance } from '../lib/text.js';

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
    issuesOf(result.error).map((issue) => suggested(issue, schema)),
    remedy === undefined ? {} : { remedy },
  );
}

/** Adds to an unknown key the one that was probably meant. */
function suggested(issue: Issue, schema: z.ZodType): Issue {
  if (issue.message !== UNKNOWN_KEY) return issue;
  const key = issue.path.slice(issue.path.lastIndexOf('.') + 1);
  const known = [...keysOf(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }))];
  const [near] = known
    .map((name) => ({ name, distance: editDistance(key.toLowerCase(), name.toLowerCase()) }))
    .filter(({ distance }) => distance <= Math.min(2, Math.floor(key.length / 4)))
    .sort((left, right) => left.distance - right.distance);
  return near === undefined ? issue : { ...issue, message: `${UNKNOWN_KEY}; did you mean ${near.name}?` };
}

/** The keys that a schema knows at any depth. */
function keysOf(schema: unknown, keys = new Set<string>()): ReadonlySet<string> {
  if (typeof schema !== 'object' || schema === null) return keys;
  for (const [keyword, value] of Object.entries(schema)) {
    if (keyword === 'properties') for (const name of Object.keys(value)) keys.add(name);
    keysOf(value, keys);
  }
  return keys;
}

const UNKNOWN_KEY = 'unknown key';

/** Lists the problems that zod found, each with its path. */
export function issuesOf(error: z.ZodError): readonly Issue[] {
  return error.issues.flatMap(toIssues);
}

function toIssues(issue: z.core.$ZodIssue): Issue[] {
  // zod reports unknown keys at the object that has them; the path should lead to the key.
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({ path: formatPath([...issue.path, key]), message: UNKNOWN_KEY }));
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
