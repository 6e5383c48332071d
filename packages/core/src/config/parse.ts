import { custom, safeParse, type ZodMiniCustom, type core as z } from 'zod/mini';
import en from 'zod/v4/locales/en.js';
import { InvalidInputError, type Issue } from '../errors/invalid-input-error.js';
import { nearNames } from '../lib/text.js';

/**
 * Validates external input.
 *
 * @throws {InvalidInputError} with the path of every invalid field.
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
  const told = instanceIn(value, issues) ?? issues.map((issue) => suggested(issue, schema));
  throw new InvalidInputError(subject, told, { remedy });
}

/** Parses a client's input. The client may see the details of an `InvalidInputError`. */
export function fromClient<Value>(read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    if (!InvalidInputError.isInstance(error)) throw error;
    throw Object.assign(error, { clientMessage: error.message });
  }
}

/** A schema that recognizes objects by a member: `having<Model>('generate', 'a model')`. */
export function having<Kind>(member: keyof Kind, what: string): ZodMiniCustom<Kind, Kind> {
  return custom<Kind>(
    (value) => typeof value === 'object' && value !== null && member in value,
    `must be ${what}`,
  );
}

/** A schema for functions. */
export function callable<Function>(): ZodMiniCustom<Function, Function> {
  return custom<Function>((value) => typeof value === 'function', 'must be a function');
}

/** Reports an instance, such as a client, passed instead of options. */
function instanceIn(value: unknown, issues: readonly Issue[]): readonly Issue[] | undefined {
  const prototype = typeof value === 'object' && value !== null ? Object.getPrototypeOf(value) : null;
  if (prototype === null || prototype === Object.prototype || Array.isArray(value)) return undefined;
  const written = issues.filter(({ message }) => message !== UNKNOWN_KEY);
  if (written.length === issues.length) return undefined;
  return [{ path: '', message: 'is an instance of a class, not an options object' }, ...written];
}

/** Maximum number of keys that an error lists. */
const MOST_LISTED = 32;

/** Appends to an unknown key the probable key, or the list of known keys. */
function suggested(issue: Issue, schema: z.$ZodType): Issue {
  if (issue.message !== UNKNOWN_KEY) return issue;
  const path = issue.path.split(/[.[\]]+/);
  const key = path.pop() as string;
  const [known, elsewhere] = [keysOf(schema, path), keysOf(schema)];
  // Suggests `userId` for `user`, and `maxRetries` for `maxRetry`.
  const stem = key.slice(0, Math.max(3, key.length - 1)).toLowerCase();
  const begins = (name: string) => key.length > 2 && name.toLowerCase().startsWith(stem);
  const near = elsewhere.has(key) ? undefined : (nearNames(key, [...known])[0] ?? [...known].find(begins));
  if (near !== undefined) return { ...issue, message: `${UNKNOWN_KEY}; did you mean ${near}?` };
  const group = elsewhere.has(key) ? ` here; ${key} belongs to another group or preset` : '';
  const isShort = known.size > 0 && known.size <= MOST_LISTED;
  return {
    ...issue,
    message: UNKNOWN_KEY + group + (isShort ? `; known keys are ${[...known].join(', ')}` : ''),
  };
}

/**
 * Returns the keys of a schema at a path, or at any depth. Reads the schema's definition, because converting to JSON Schema would load all
 * of zod.
 */
function keysOf(
  part: unknown,
  path?: readonly string[],
  keys = new Set<string>(),
  seen = new Set<unknown>(),
): ReadonlySet<string> {
  if (typeof part !== 'object' || part === null || (path === undefined && seen.has(part))) return keys;
  seen.add(part);
  const { _zod: internals } = part as { readonly _zod?: z.$ZodTypeInternals };
  const definition = (internals?.def ?? part) as Readonly<Record<string, unknown>>;
  const shape = internals && (definition.shape as Readonly<Record<string, unknown>> | undefined);
  const inner = internals && (definition.element ?? definition.valueType);
  const [step, ...rest] = path ?? [];
  if (shape && step === undefined) for (const name of Object.keys(shape)) keys.add(name);
  if (path === undefined || !(shape ?? inner)) {
    for (const own of Object.values(definition)) keysOf(own, path, keys, seen);
  } else if (step !== undefined) keysOf(shape ? shape[step] : inner, rest, keys, seen);
  return keys;
}

const UNKNOWN_KEY = 'unknown key';

/** Words the issues of `zod/mini` schemas, which have no messages of their own. */
const { localeError } = en();
const MISSING = 'is missing';

function wordOf(issue: z.$ZodRawIssue): ReturnType<typeof localeError> {
  const isMissing = issue.code === 'invalid_union' && issue.input === undefined;
  if (isMissing) return MISSING;
  const words = localeError(issue);
  if (issue.code !== 'invalid_value' || typeof issue.input !== 'string') return words;
  const near = nearNames(issue.input, issue.values.map(String))[0];
  return near === undefined ? words : `${words}; did you mean ${near}?`;
}

/** Lists zod's issues, each with its path. */
export function issuesOf(error: z.$ZodError): readonly Issue[] {
  return error.issues.flatMap(toIssues);
}

function toIssues(issue: z.$ZodIssue): Issue[] {
  // zod reports unknown keys at their object. The path should include the key.
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({ path: formatPath([...issue.path, key]), message: UNKNOWN_KEY }));
  }
  // "Invalid input" alone does not help, so list the fault of each alternative.
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
  return `matches none of the allowed forms (${[...new Set(messages)].join('; or ')})`;
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
