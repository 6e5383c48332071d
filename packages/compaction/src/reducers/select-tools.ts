import type { ToolAnnotations, ToolDefinition } from '@x/core';

/** Tests a tool's name against patterns: a name, or a beginning followed by `*`. */
export function matchesTool(patterns: readonly string[], name: string): boolean {
  return patterns.some((pattern) =>
    pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern,
  );
}

/** The names of the tools that say so of themselves. */
export function toolsThat(
  annotation: keyof ToolAnnotations,
  tools: readonly ToolDefinition[] = [],
): ReadonlySet<string> {
  return new Set(
    tools.filter(({ annotations }) => annotations?.[annotation] === true).map(({ name }) => name),
  );
}
