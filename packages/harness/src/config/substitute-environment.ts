import { InvalidInputError } from '@x/core';
import { formatPath, type Issue, refuseDepth } from '@x/core/internal';

/** Matches `${NAME}`, `${NAME:-default}`, and `$${` for a literal `${`. */
const REFERENCE = /\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g;

/**
 * Replaces references to environment variables in all strings of a configuration, so that files need not contain
 * secrets.
 *
 * @throws {InvalidInputError} naming every missing variable and the path that needs it. Never contains a value.
 */
export function substituteEnvironment(
  value: unknown,
  environment: Readonly<Record<string, string | undefined>>,
  subject: string,
): unknown {
  refuseDepth(value, subject);
  const issues: Issue[] = [];
  const substituted = substitute(value, [], environment, issues);
  if (issues.length > 0) throw new InvalidInputError(subject, issues);
  return substituted;
}

function substitute(
  value: unknown,
  path: readonly PropertyKey[],
  environment: Readonly<Record<string, string | undefined>>,
  issues: Issue[],
): unknown {
  if (typeof value === 'string') {
    return value.replaceAll(
      REFERENCE,
      (reference, name: string | undefined, otherwise: string | undefined) => {
        if (name === undefined) return '${';
        // As in a shell, the default replaces an empty variable too.
        const found = environment[name];
        if (found !== undefined && (found !== '' || otherwise === undefined)) return found;
        if (otherwise !== undefined) return otherwise;
        issues.push({
          path: formatPath(path),
          message: `needs the environment variable ${name}; set it, or write \${${name}:-default}`,
        });
        return reference;
      },
    );
  }
  if (Array.isArray(value)) {
    return value.map((item, index) => substitute(item, [...path, index], environment, issues));
  }
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, substitute(item, [...path, key], environment, issues)]),
  );
}
