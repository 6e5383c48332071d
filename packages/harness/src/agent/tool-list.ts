import type { Capability, Tool } from '@x/core';
import type { ToolDefinition } from '@x/core/messages';

/** The tools of an agent as one call sees them. */
export interface CurrentTools {
  readonly byName: ReadonlyMap<string, Tool>;
  readonly definitions: readonly ToolDefinition[];
}

/** The tools of an agent, kept up with capabilities whose own list changes between calls. */
export class ToolList {
  readonly #own: readonly Tool[];
  readonly #capabilities: readonly Capability[];
  readonly #keeps: (tool: string) => boolean;
  #seen: readonly (readonly Tool[] | undefined)[];
  #current: CurrentTools;

  /**
   * @param tools All that the agent was built with, those of its capabilities included.
   * @param keeps Returns whether the agent has a tool that a capability brings later.
   */
  constructor(
    tools: readonly Tool[],
    capabilities: readonly Capability[],
    keeps: (tool: string) => boolean = () => true,
  ) {
    this.#capabilities = capabilities;
    this.#keeps = keeps;
    this.#seen = capabilities.map((capability) => capability.tools);
    const brought = new Set(this.#seen.flatMap((list) => list ?? []));
    this.#own = tools.filter((tool) => !brought.has(tool));
    this.#current = listOf(tools);
  }

  /** The same object as long as no capability has another list. */
  current(): CurrentTools {
    const lists = this.#capabilities.map((capability) => capability.tools);
    if (lists.some((list, index) => list !== this.#seen[index])) {
      this.#seen = lists;
      const kept = lists
        .flatMap((list) => list ?? [])
        .filter(({ definition }) => this.#keeps(definition.name));
      this.#current = listOf([...this.#own, ...kept]);
    }
    return this.#current;
  }
}

/** Indexes tools by name. The first tool wins; only a list that grew after the build has duplicates. */
function listOf(tools: readonly Tool[]): CurrentTools {
  const byName = new Map<string, Tool>();
  for (const tool of tools) if (!byName.has(tool.definition.name)) byName.set(tool.definition.name, tool);
  return { byName, definitions: [...byName.values()].map(annotated) };
}

/** The tool's definition, with what the tool says of itself: stages see definitions alone. */
function annotated({ definition, readOnly, destructive = false }: Tool): ToolDefinition {
  if (!readOnly && !destructive) return definition;
  return { ...definition, annotations: { readOnly, destructive, ...definition.annotations } };
}
