import type { ToolAnnotations, ToolDefinition } from '@x/core';

/** The names of the tools that say so of themselves. */
export function toolsThat(
  annotation: keyof ToolAnnotations,
  tools: readonly ToolDefinition[] = [],
): ReadonlySet<string> {
  return new Set(
    tools.filter(({ annotations }) => annotations?.[annotation] === true).map(({ name }) => name),
  );
}
