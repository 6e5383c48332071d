import { InvalidInputError, type Issue } from '@x/core';

/** Keys of other systems that mean one of ours. */
const ALIASES: Readonly<Record<string, string>> = {
  steps: 'max_iterations',
  max_iters: 'max_iterations',
  maxIters: 'max_iterations',
  max_turns: 'max_iterations',
  maxTurns: 'max_iterations',
};

/** A key of other systems that looks like a misspelt `model`. */
const FOREIGN = 'mode';

/** Keys of other systems that limit nothing. Left out, any other word could leave a subagent more than its author meant. */
const HARMLESS: ReadonlySet<string> = new Set([
  ...['workspace', 'top_p', 'top_k', 'seed', 'hidden', 'expose_to_user'],
  ...['id', 'title', 'display_name', 'color', 'icon', 'version', 'author', 'license', 'homepage', 'category'],
  ...['tags', 'keywords', 'examples', 'metadata', 'argument_hint', 'argument-hint'],
]);

/**
 * Renames the keys of other systems that mean one of ours, and leaves out those that nothing takes and that do no harm.
 *
 * @param file Names the file in errors.
 * @param parse Refuses unknown keys, as the reader of the result does.
 * @throws {InvalidInputError} for two keys that mean the same: neither order nor luck may say which of them holds.
 */
export function withoutForeignKeys(
  data: Readonly<Record<string, unknown>>,
  file: string,
  parse: (given: Readonly<Record<string, unknown>>) => unknown,
): { readonly known: Readonly<Record<string, unknown>>; readonly ignored: readonly string[] } {
  const { [FOREIGN]: foreign, ...ours } = data;
  const keys = Object.keys(ours).map((key) => ({ path: key, name: ALIASES[key] ?? key }));
  const twice = keys.filter(({ name }, index) => keys.findIndex((key) => key.name === name) < index);
  if (twice.length > 0) {
    const issues = twice.map(({ path, name }) => ({
      path,
      message: `means ${name}, which is given already`,
    }));
    throw new InvalidInputError(file, issues);
  }
  const given = Object.fromEntries(keys.map(({ path, name }) => [name, ours[path]]));
  const ignored = foreign === undefined ? [] : [FOREIGN];
  try {
    parse(given);
  } catch (error) {
    if (!InvalidInputError.isInstance(error)) throw error;
    ignored.push(...error.issues.filter(isHarmless).map(({ path }) => path));
  }
  return {
    known: Object.fromEntries(Object.entries(given).filter(([key]) => !ignored.includes(key))),
    ignored,
  };
}

function isHarmless({ path, message }: Issue): boolean {
  return message === 'unknown key' && HARMLESS.has(path);
}
