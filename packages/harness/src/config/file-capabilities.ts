import {
  type FileCapability,
  fileCapability,
  isObject,
  parseFileConfig,
  parseWith,
  type Workspace,
} from '@x/core';
import * as z from 'zod';
import { agentsFiles, agentsFilesConfigSchema } from '../capabilities/agents-files.js';
import { type BudgetConfig, budget, budgetConfigSchema } from '../capabilities/budget/budget.js';
import { permissions, permissionsConfigSchema } from '../capabilities/permissions/permissions.js';
import { planMode, planModeConfigSchema } from '../capabilities/plan-mode.js';
import { shell, shellConfigSchema } from '../capabilities/shell.js';
import { skills, skillsConfigSchema } from '../capabilities/skills/skills.js';
import {
  definitionSchema,
  GENERAL_PURPOSE,
  loadSubagents,
  type SubagentDefinition,
} from '../capabilities/subagents/subagent-definition.js';
import { subagents } from '../capabilities/subagents/subagents.js';
import { type SubagentsConfig, subagentsConfigSchema } from '../capabilities/subagents/subagents-config.js';
import { todoList } from '../capabilities/todo-list.js';
import { groupsSchema, type ToolGroup, toolGroups } from '../capabilities/tool-groups.js';
import { workspaceTools } from '../capabilities/workspace-tools/workspace-tools.js';
import { workspaceToolsConfigSchema } from '../capabilities/workspace-tools/workspace-tools-config.js';
import type { ModelReference } from './agent-file.js';
import { withoutForeignSubagentKeys, withReasons } from './foreign-keys.js';

/** Options of `subagents` that only a program can give. */
export type SubagentsInFiles = Pick<SubagentsConfig, 'runner' | 'models' | 'settings'>;

const { runner, models, settings, clock, ...subagentsShape } = subagentsConfigSchema.shape;
const { ownTools, capabilities, model, ...definitionShape } = definitionSchema.shape;

const modelSchema = z.union([
  z.string().min(1),
  z.strictObject({
    id: z.string().min(1),
    contextWindow: z.int().min(1).optional(),
    nativeCompaction: z.enum(['auto', 'off']).optional(),
  }),
]);
const definitionFileSchema = z.strictObject({ ...definitionShape, model: modelSchema.optional() });
const namingModels = z.object({ definitions: z.array(z.looseObject({ model: modelSchema.optional() })) });

/** Names a model that a definition describes, as `subagents(…, { models })` lists it: one that says nothing more by its id. */
export function subagentModelName({ id, contextWindow, nativeCompaction }: ModelReference): string {
  const more = { contextWindow, nativeCompaction };
  const said = Object.entries(more).flatMap(([key, value]) => (value === undefined ? [] : `${key} ${value}`));
  return said.length === 0 ? id : `${id} (${said.join(', ')})`;
}

/** Puts names in the place of models. */
function withModelNames(written: unknown): readonly SubagentDefinition[] {
  const { definitions } = parseWith(namingModels, { definitions: written }, 'subagents configuration');
  return definitions.map(({ model, ...rest }) => ({
    ...rest,
    ...(typeof model === 'object'
      ? { model: subagentModelName(model) }
      : model === undefined
        ? {}
        : { model }),
  })) as unknown as readonly SubagentDefinition[];
}

const subagentsFileSchema = z.strictObject({
  ...subagentsShape,
  /** Subagents beside those in the folder. */
  definitions: z.array(definitionFileSchema).default([]),
});

/** Takes other systems' keys out of definitions, and tells of each that does nothing or keeps one from the model. */
function withoutForeign(config: unknown, warn: (message: string) => void): unknown {
  const { definitions, ...rest } = Object(config ?? {}) as Readonly<Record<string, unknown>>;
  if (!Array.isArray(definitions)) return config;
  const ours = definitions.map((definition: unknown, index) => {
    if (!isObject(definition)) return definition;
    const { known, told } = withoutForeignSubagentKeys(definition, `definitions[${index}]`, (keys) =>
      parseFileConfig(definitionFileSchema, keys, 'definition'),
    );
    for (const message of told) warn(`subagents: definitions[${index}].${message}`);
    return known;
  });
  return { ...rest, definitions: ours };
}

/**
 * Reads the files of subagents as every call does, and answers what is wrong with them: whoever opens an agent hears of it
 * before the first call.
 *
 * @param config The words of the agent's file for `subagents`.
 * @param models Names of the models that such files may name.
 * @throws {InvalidInputError} for a configuration that the capability refuses, too.
 */
export async function subagentFileProblems(
  workspace: Workspace,
  config: unknown,
  models: readonly string[] = [],
): Promise<readonly string[]> {
  const given = withoutForeign(config ?? {}, () => {});
  const { folder, definitions } = parseFileConfig(subagentsFileSchema, given, 'subagents configuration');
  const taken = new Set([GENERAL_PURPOSE, ...definitions].map(({ name }) => name));
  return (await loadSubagents(workspace, folder, { taken, models })).problems;
}

const { executor, sandbox, ...shellShape } = shellConfigSchema.shape;
const shellFileSchema = z.strictObject({ ...shellShape, sandbox: sandbox.unwrap().default('auto') });

const nothing = z.strictObject({});

/**
 * The capabilities of this package by the names that files use, to be registered in a `CapabilityRegistry`.
 *
 * @param program What files cannot say: where subagents run, which models and capabilities their definitions may name.
 */
export function harnessCapabilities(
  program: {
    readonly subagents?: SubagentsInFiles;
    /** Hears of other systems' harmless keys in definitions. Without it they are refused. */
    readonly onWarning?: (message: string) => void;
  } = {},
): Readonly<Record<string, FileCapability>> {
  const team = fileCapability('subagents', subagentsFileSchema, ({ definitions, ...config }) =>
    subagents(withModelNames(definitions ?? []), { ...config, ...program.subagents }),
  );
  const { onWarning } = program;
  return {
    agents_files: fileCapability('agents_files', agentsFilesConfigSchema, agentsFiles),
    budget: fileCapability('budget', budgetConfigSchema, (config) => budget(config as BudgetConfig)),
    permissions: fileCapability('permissions', permissionsConfigSchema, permissions),
    plan_mode: fileCapability('plan_mode', planModeConfigSchema, planMode),
    // What a file asks for runs in a sandbox where there is one.
    shell: fileCapability('shell', shellFileSchema, (config) => shell({ sandbox: 'auto', ...config })),
    skills: fileCapability('skills', skillsConfigSchema, skills),
    subagents: onWarning
      ? {
          ...team,
          create: (config) => withReasons('subagent', () => team.create(withoutForeign(config, onWarning))),
        }
      : team,
    todo_list: fileCapability('todo_list', nothing, () => todoList()),
    tool_groups: fileCapability('tool_groups', groupsSchema, (groups) =>
      toolGroups(groups as Readonly<Record<string, ToolGroup>>),
    ),
    workspace_tools: fileCapability('workspace_tools', workspaceToolsConfigSchema, workspaceTools),
  };
}
