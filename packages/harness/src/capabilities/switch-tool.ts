import { type AgentState, defineTool, InvalidInputError, type Tool } from '@x/core';
import { z } from 'zod';

interface Switchable {
  readonly name: string;
  readonly description: string;
  /** By itself. */
  readonly active: boolean;
}

/** `tool_groups`, by which the model activates and deactivates groups. */
export function switchTool(
  groups: readonly Switchable[],
  activeGroups: (state: AgentState) => readonly string[],
): Tool {
  const names = z.array(z.enum(groups.map(({ name }) => name))).default([]);
  const list = groups.map(({ name, description }) => `${name}: ${description}`);
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
        ({ name }) => activate.includes(name) || (before.includes(name) && !deactivate.includes(name)),
      );
      const deactivated = groups.filter((group) => group.active && !active.includes(group));
      state.toolContext = {
        activatedGroups: active.filter((group) => !group.active).map(({ name }) => name),
        ...(deactivated.length > 0 ? { deactivatedGroups: deactivated.map(({ name }) => name) } : {}),
      };
      return `Active groups: ${active.map(({ name }) => name).join(', ') || 'none'}.`;
    },
  });
}
