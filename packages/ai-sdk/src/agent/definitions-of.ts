import type { JsonObject, ToolDefinition } from '@x/core';

/** The tools of a call as far as they can be counted: those that the application runs. */
export function definitionsOf(tools: readonly unknown[] | undefined): readonly ToolDefinition[] {
  return (tools ?? []).flatMap((tool) => {
    const { type, name, description, inputSchema } = tool as {
      readonly type?: unknown;
      readonly name?: unknown;
      readonly description?: unknown;
      readonly inputSchema?: unknown;
    };
    if (type !== 'function' || typeof name !== 'string') return [];
    return [{ name, description: String(description ?? ''), inputSchema: (inputSchema ?? {}) as JsonObject }];
  });
}
