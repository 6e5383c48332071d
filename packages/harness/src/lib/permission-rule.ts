import { InvalidInputError, type PermissionRule } from '@x/core';

const RULE = /^([\w.:/*?-]+)(?:\((.*)\))?$/s;

/**
 * Parses `tool` or `tool(pattern)`. The name of the tool may contain the wildcards `*` and `?`.
 *
 * @param path Location of the rule, for the error.
 * @throws {InvalidInputError} if the text has neither form.
 */
export function parseRule(text: string, path: string, subject: string): PermissionRule {
  const [, tool, match] = RULE.exec(text) ?? [];
  if (tool === undefined || match === '') {
    const remedy = match === '' ? `leave out the parentheses for every call` : 'write tool or tool(pattern)';
    throw new InvalidInputError(subject, [
      { path, message: `${JSON.stringify(text)} is not a permission rule: ${remedy}` },
    ]);
  }
  return match === undefined ? { tool } : { tool, match };
}

/**
 * Formats a rule as people write it. Appends patterns for named arguments as `tool{argument: pattern}`, and `tool{}`
 * for a rule that allows none.
 */
export function formatRule({ tool, match, input }: PermissionRule): string {
  const main = match === undefined ? '' : `(${match})`;
  const named = Object.entries(input ?? {}).map(([name, pattern]) => `${name}: ${pattern}`);
  return `${tool}${main}${input !== undefined ? `{${named.join(', ')}}` : ''}`;
}
