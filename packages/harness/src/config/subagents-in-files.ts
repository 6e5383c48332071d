import { type Model, parseFileConfig, type Workspace } from '@x/core';
import { type FileCapability, fileJsonSchema, type Issue } from '@x/core/internal';
import * as z from 'zod';
import {
  GENERAL_PURPOSE,
  type SubagentsConfig,
  subagentsConfigSchema,
} from '../capabilities/subagents/members.js';
import { subagents } from '../capabilities/subagents/team.js';
import { HarnessConfigError } from '../errors/harness-config-error.js';
import { type ModelReference, modelSchema } from './agent-file.js';
import { attempt } from './agent-from-config.js';
import { loadSubagents } from './subagent-files.js';

/** Options for subagents that files cannot set, and the factory for the models that files name. */
export interface SubagentsInFiles extends Pick<SubagentsConfig, 'runner' | 'models' | 'settings'> {
  /** Creates the models in `models` of a file. Without it, files can only use those that the program names. */
  model?(reference: ModelReference): Model | Promise<Model>;
}

const { runner, models, settings, clock, ...shape } = subagentsConfigSchema.shape;

const schema = z.strictObject({
  ...shape,
  /** Models that the files of subagents may name. Without one, a subagent has the agent's model. */
  models: z.array(modelSchema).default([]),
});

/** Returns the capability `subagents` for configuration files. */
export function subagentsInFiles({ model, ...given }: SubagentsInFiles = {}): FileCapability {
  return {
    jsonSchema: fileJsonSchema(schema),
    async create(config) {
      const { models: references, ...folders } = read(config);
      const offered: Record<string, Model> = { ...given.models };
      const issues: Issue[] = [];
      for (const [index, reference] of references.entries()) {
        if (model === undefined || Object.hasOwn(offered, reference.id)) continue;
        await attempt(issues, `models[${index}]`, async () => {
          offered[reference.id] = await model(reference);
        });
      }
      if (issues.length > 0) throw new HarnessConfigError(issues);
      return subagents([], { ...folders, ...given, models: offered });
    },
  };
}

/** @throws {InvalidInputError} naming the path of every bad key. */
function read(config: unknown) {
  return parseFileConfig(schema, config ?? {}, 'subagents configuration');
}

/**
 * Reads the subagent files as every call does and returns their problems, so that a program can report them before the
 * first call.
 *
 * @param config The value of `subagents` in the agent's file.
 * @throws {InvalidInputError} for a configuration that the capability also rejects.
 */
export async function subagentFileProblems(
  workspace: Workspace,
  config: unknown,
): Promise<readonly string[]> {
  const { folder, models: references } = read(config);
  const taken = new Set([GENERAL_PURPOSE.name]);
  return (await loadSubagents(workspace, folder, { taken, models: references.map(({ id }) => id) })).problems;
}
