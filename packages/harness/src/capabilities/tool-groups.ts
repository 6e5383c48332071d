import { type AgentState, type Capability, defineTool, InvalidInputError, type Tool } from '@x/core';
import { having, parseWith } from '@x/core/internal';
import type { ToolDefinition } from '@x/core/messages';
import * as z from 'zod';
import { type ToolReference, ToolReferences } from '../agent/tool-references.js';
import { matchWildcard } from '../lib/wildcard.js';

const NAME = 'tool_groups';

/** Tools that are offered together. */
export interface ToolGroup {
  /** Purpose of the group. The model chooses groups by it. */
  readonly description: string;
  /** Tools, or names of tools from other capabilities. `*` matches any characters. */
  readonly tools: readonly (Tool | string)[];
  /** True if the group is active until the model deactivates it. Default false. */
  readonly active?: boolean | undefined;
}

export const groupsSchema = z
  .record(
    z.string().min(1),
    z.strictObject({
      description: z.string().min(1),
      tools: z.array(z.union([z.string().min(1), having<Tool>('run', 'a tool, or the name of one')])),
      active: z.boolean().optional(),
    }),
  )
  .refine((groups) => Object.keys(groups).length > 0, 'has no groups; leave toolGroups out');

/**
 * Offers tools in groups. The model sees only the tools of active groups, and switches groups with `tool_groups`.
 * `state.toolContext` stores the active groups. A tool in several groups is offered if any of them is active; a tool in
 * no group is always offered.
 *
 * A name without a tool causes a warning in the agent's first call. If it is close to the name of an existing tool, the
 * build fails.
 *
 * @example
 * ```ts
 * import { HarnessAgent, shell, toolGroups, workspaceTools } from '@x/harness';
 *
 * const agent = HarnessAgent.builder()
 *   .model(model)
 *   .use(workspaceTools(), shell())
 *   .use(toolGroups({ system: { description: 'Runs commands.', tools: ['execute'] } }))
 *   .build();
 * ```
 * @throws {InvalidInputError} for a malformed group.
 */
export function toolGroups(groups: Readonly<Record<string, ToolGroup>>): Capability {
  const parsed = Object.entries(parseWith(groupsSchema, groups, 'toolGroups configuration'));
  const brought = new Set(
    parsed.flatMap(([, { tools }]) => tools.filter((tool) => typeof tool !== 'string')),
  );
  const references = new ToolReferences(NAME, referencesOf(groups));
  const selections = new WeakMap<readonly ToolDefinition[], Map<string, readonly ToolDefinition[]>>();

  const activeGroups = ({ toolContext }: AgentState) => {
    const { activatedGroups, deactivatedGroups = [] } = toolContext;
    return parsed.flatMap(([name, { active = false }]) =>
      activatedGroups.includes(name) || (active && !deactivatedGroups.includes(name)) ? [name] : [],
    );
  };
  const groupsOf = (toolName: string) =>
    parsed.flatMap(([name, { tools }]) => (tools.some((entry) => isNamed(entry, toolName)) ? [name] : []));
  const missing = (toolName: string, state: AgentState) => {
    const needed = groupsOf(toolName);
    const active = activeGroups(state);
    return needed.length > 0 && !needed.some((name) => active.includes(name)) ? needed : [];
  };

  return {
    name: NAME,
    tools: [...brought, switchTool(parsed, activeGroups)],
    ...references.hooks,
    offerTools(tools, { state }) {
      const key = JSON.stringify(activeGroups(state));
      const known = selections.get(tools) ?? new Map<string, readonly ToolDefinition[]>();
      const offered = known.get(key) ?? tools.filter(({ name }) => missing(name, state).length === 0);
      selections.set(tools, known.set(key, offered));
      return offered;
    },
    authorize(call, { state }) {
      const needed = missing(call.name, state);
      if (needed.length === 0) return undefined;
      return {
        type: 'deny',
        reason: `${call.name} is not active: activate the group ${needed.join(' or ')} with tool_groups first.`,
      };
    },
  };
}

function referencesOf(groups: Readonly<Record<string, ToolGroup>>): readonly ToolReference[] {
  return Object.entries(groups).flatMap(([group, { tools }]) =>
    tools.flatMap((tool, index) =>
      typeof tool === 'string' ? [{ path: `${group}.tools[${index}]`, tool }] : [],
    ),
  );
}

function isNamed(entry: Tool | string, toolName: string): boolean {
  return typeof entry === 'string' ? matchWildcard(entry, toolName) : entry.definition.name === toolName;
}

/** Creates `tool_groups`, with which the model activates and deactivates groups. */
function switchTool(
  groups: readonly (readonly [name: string, group: Pick<ToolGroup, 'description' | 'active'>])[],
  activeGroups: (state: AgentState) => readonly string[],
): Tool {
  const names = z.array(z.enum(groups.map(([name]) => name))).default([]);
  const list = groups.map(([name, { description }]) => `${name}: ${description}`);
  return defineTool({
    name: 'tool_groups',
    description: `Activates and deactivates groups of tools. Activate what you need before you need it.\n${list.join('\n')}`,
    sessionOnly: true,
    input: z.strictObject({ activate: names, deactivate: names }),
    execute({ activate, deactivate }, { state }) {
      const both = activate.filter((name) => deactivate.includes(name));
      if (both.length > 0) {
        throw new InvalidInputError('input of tool tool_groups', [
          { path: 'deactivate', message: `${both.join(', ')} cannot be activated and deactivated at once` },
        ]);
      }
      const before = activeGroups(state);
      const active = groups.filter(
        ([name]) => activate.includes(name) || (before.includes(name) && !deactivate.includes(name)),
      );
      const deactivated = groups.filter((group) => group[1].active && !active.includes(group));
      state.toolContext = {
        activatedGroups: active.filter(([, group]) => !group.active).map(([name]) => name),
        ...(deactivated.length > 0 ? { deactivatedGroups: deactivated.map(([name]) => name) } : {}),
      };
      return `Active groups: ${active.map(([name]) => name).join(', ') || 'none'}.`;
    },
  });
}
