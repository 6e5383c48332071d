import type { Capability, Tool } from '@x/core';
import type { ToolDefinition } from '@x/core/messages';

/** The tools of an agent in one call. */
export interface CurrentTools {
  readonly byName: ReadonlyMap<string, Tool>;
  readonly definitions: readonly ToolDefinition[];
}

/** The tools of an agent. Picks up tools that capabilities add or remove between calls. */
export class ToolList {
  readonly #own: readonly Tool[];
  readonly #capabilities: readonly Capability[];
  readonly #keeps: (tool: string) => boolean;
  #seen: readonly (readonly Tool[] | undefined)[];
  #current: CurrentTools;

  /**
   * @param tools All tools that the agent was built with, including those of its capabilities.
   * @param keeps Returns whether the agent keeps a tool that a capability adds later.
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

  /** Returns the current tools: the same object until a capability returns another list. */
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

/** Indexes tools by name. The first tool wins; only a list that grew after the build can have duplicates. */
function listOf(tools: readonly Tool[]): CurrentTools {
  const byName = new Map<string, Tool>();
  for (const tool of tools) if (!byName.has(tool.definition.name)) byName.set(tool.definition.name, tool);
  return { byName, definitions: [...byName.values()].map(annotated) };
}

/** Returns the tool's definition with its `readOnly` and `destructive` flags as annotations, because stages see only definitions. */
function annotated({ definition, readOnly, destructive = false }: Tool): ToolDefinition {
  if (!readOnly && !destructive) return definition;
  return { ...definition, annotations: { readOnly, destructive, ...definition.annotations } };
}
