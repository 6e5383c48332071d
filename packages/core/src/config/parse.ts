import { safeParse, type core as z } from 'zod/mini';
import en from 'zod/v4/locales/en.js';
import { InvalidInputError, type Issue } from '../errors/invalid-input-error.js';
import { nearNames } from '../lib/text.js';

/**
 * Validates `value` at the edge of the system.
 *
 * @throws {InvalidInputError} naming the path of every bad field.
 */
export function parseWith<Schema extends z.$ZodType>(
  schema: Schema,
  value: unknown,
  subject: string,
  remedy?: string,
): z.output<Schema> {
  const result = safeParse(schema, value, { error: wordOf });
  if (result.success) return result.data;
  const issues = issuesOf(result.error);
  throw new InvalidInputError(
    subject,
    instanceIn(value, issues) ?? issues.map((issue) => suggested(issue, schema)),
    remedy === undefined ? {} : { remedy },
  );
}

/** Tells of an instance in the place of options, such as a client: its private fields are no keys that anyone wrote. */
function instanceIn(value: unknown, issues: readonly Issue[]): readonly Issue[] | undefined {
  const prototype = typeof value === 'object' && value !== null ? Object.getPrototypeOf(value) : null;
  if (prototype === null || prototype === Object.prototype || Array.isArray(value)) return undefined;
  const written = issues.filter(({ message }) => message !== UNKNOWN_KEY);
  if (written.length === issues.length) return undefined;
  return [{ path: '', message: 'is an instance of a class, not an object of options' }, ...written];
}

/** Adds to an unknown key the one that was probably meant. */
function suggested(issue: Issue, schema: z.$ZodType): Issue {
  if (issue.message !== UNKNOWN_KEY) return issue;
  const key = issue.path.slice(issue.path.lastIndexOf('.') + 1);
  const known = [...keysOf(schema)];
  if (known.includes(key)) {
    return { ...issue, message: `${UNKNOWN_KEY} here; ${key} belongs to another group or preset` };
  }
  // `user` for `userId`, `maxRetry` for `maxRetries`.
  const stem = key.slice(0, Math.max(3, key.length - 1)).toLowerCase();
  const near =
    nearNames(key, known)[0] ?? known.find((name) => key.length > 2 && name.toLowerCase().startsWith(stem));
  return near === undefined ? issue : { ...issue, message: `${UNKNOWN_KEY}; did you mean ${near}?` };
}

/** The keys that a schema knows at any depth. Reads its definition: a JSON Schema of it would need the whole of zod. */
function keysOf(part: unknown, keys = new Set<string>(), seen = new Set<unknown>()): ReadonlySet<string> {
  if (typeof part !== 'object' || part === null || seen.has(part)) return keys;
  seen.add(part);
  const { _zod: internals } = part as { readonly _zod?: z.$ZodTypeInternals };
  const definition = internals?.def ?? part;
  if (internals !== undefined && 'shape' in definition) {
    for (const name of Object.keys(definition.shape as object)) keys.add(name);
  }
  for (const inner of Object.values(definition)) keysOf(inner, keys, seen);
  return keys;
}

const UNKNOWN_KEY = 'unknown key';

/** Words the issues of schemas of `zod/mini`, which bring no words of their own. */
const { localeError } = en();
const MISSING = 'is missing';

function wordOf(issue: z.$ZodRawIssue): ReturnType<typeof localeError> {
  const isMissing = issue.code === 'invalid_union' && issue.input === undefined;
  return isMissing ? MISSING : localeError(issue);
}

/** Lists the problems that zod found, each with its path. */
export function issuesOf(error: z.$ZodError): readonly Issue[] {
  return error.issues.flatMap(toIssues);
}

function toIssues(issue: z.$ZodIssue): Issue[] {
  // zod reports unknown keys at the object that has them; the path should lead to the key.
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({ path: formatPath([...issue.path, key]), message: UNKNOWN_KEY }));
  }
  // "Invalid input" alone does not help: say what each alternative would have taken.
  if (issue.code === 'invalid_union' && issue.errors.length > 0 && !issue.message.startsWith(MISSING)) {
    return [{ path: formatPath(issue.path), message: alternatives(issue.errors) }];
  }
  return [{ path: formatPath(issue.path), message: issue.message }];
}

function alternatives(errors: readonly (readonly z.$ZodIssue[])[]): string {
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
