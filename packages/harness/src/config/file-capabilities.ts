import { type FileCapability, fileCapability } from '@x/core/internal';
import * as z from 'zod';
import { agentsFiles, agentsFilesConfigSchema } from '../capabilities/agents-files.js';
import { type BudgetConfig, budget, budgetConfigSchema } from '../capabilities/budget/budget.js';
import { permissions, permissionsConfigSchema } from '../capabilities/permissions/permissions.js';
import { planMode, planModeConfigSchema } from '../capabilities/plan-mode.js';
import { shell, shellConfigSchema } from '../capabilities/shell.js';
import { skills, skillsConfigSchema } from '../capabilities/skills/skills.js';
import { todoList } from '../capabilities/todo-list.js';
import { groupsSchema, type ToolGroup, toolGroups } from '../capabilities/tool-groups.js';
import { workspaceTools } from '../capabilities/workspace-tools/workspace-tools.js';
import { workspaceToolsConfigSchema } from '../capabilities/workspace-tools/workspace-tools-config.js';
import { type SubagentsInFiles, subagentsInFiles } from './subagents-in-files.js';

const { executor, sandbox, ...shellShape } = shellConfigSchema.shape;
const shellFileSchema = z.strictObject({ ...shellShape, sandbox: sandbox.unwrap().default('auto') });

const nothing = z.strictObject({});

/**
 * Returns the capabilities of this package by the names that files use, to register in a `CapabilityRegistry`.
 *
 * @param program Options that files cannot set: where subagents run, and which models they may use.
 */
export function harnessCapabilities(
  program: { readonly subagents?: SubagentsInFiles } = {},
): Readonly<Record<string, FileCapability>> {
  return {
    agents_files: fileCapability('agents_files', agentsFilesConfigSchema, agentsFiles),
    budget: fileCapability('budget', budgetConfigSchema, (config) => budget(config as BudgetConfig)),
    permissions: fileCapability('permissions', permissionsConfigSchema, permissions),
    plan_mode: fileCapability('plan_mode', planModeConfigSchema, planMode),
    // Commands of an agent from a file run in a sandbox if one is available.
    shell: fileCapability('shell', shellFileSchema, (config) => shell({ sandbox: 'auto', ...config })),
    skills: fileCapability('skills', skillsConfigSchema, skills),
    subagents: subagentsInFiles(program.subagents),
    todo_list: fileCapability('todo_list', nothing, () => todoList()),
    tool_groups: fileCapability('tool_groups', groupsSchema, (groups) =>
      toolGroups(groups as Readonly<Record<string, ToolGroup>>),
    ),
    workspace_tools: fileCapability('workspace_tools', workspaceToolsConfigSchema, workspaceTools),
  };
}
