import { InvalidInputError, type PermissionRule } from '@x/core';

const RULE = /^([\w.:/*?-]+)(?:\((.*)\))?$/s;

/**
 * Reads `tool` or `tool(pattern)`. The tool is a name in which `*` and `?` may stand for characters.
 *
 * @param path where the rule stands, for the error.
 * @throws {InvalidInputError} when it is neither.
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

/** The rule as people write it; patterns for named arguments follow as `tool{argument: pattern}`, `tool{}` for a call without any. */
export function formatRule({ tool, match, input }: PermissionRule): string {
  const main = match === undefined ? '' : `(${match})`;
  const named = Object.entries(input ?? {}).map(([name, pattern]) => `${name}: ${pattern}`);
  return `${tool}${main}${input !== undefined ? `{${named.join(', ')}}` : ''}`;
}

export function sameRule(left: PermissionRule, right: PermissionRule): boolean {
  return (
    left.tool === right.tool &&
    left.match === right.match &&
    left.fingerprint === right.fingerprint &&
    JSON.stringify(left.input) === JSON.stringify(right.input)
  );
}
