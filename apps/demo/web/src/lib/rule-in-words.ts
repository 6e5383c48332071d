import type { PermissionRule } from '@x/core';

/** A rule as people write it: `write_file(notes/a.md)`. */
export function ruleInWords({ tool, match }: PermissionRule): string {
  return match === undefined ? tool : `${tool}(${match})`;
}
