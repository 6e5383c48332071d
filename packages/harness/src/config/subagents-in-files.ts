import { type Capability, InvalidInputError, type Model, parseFileConfig, type Workspace } from '@x/core';
import { type FileCapability, fileJsonSchema, type Issue } from '@x/core/internal';
import * as z from 'zod';
import { CapabilityRegistry } from '../agent/capability-registry.js';
import {
  GENERAL_PURPOSE,
  type SubagentDefinition,
  type SubagentsConfig,
  subagentsConfigSchema,
} from '../capabilities/subagents/members.js';
import { subagents } from '../capabilities/subagents/team.js';
import { HarnessConfigError, issuesOf } from '../errors/harness-config-error.js';
import { type ModelReference, memberJsonSchema, parseMember, withProperties } from './agent-file.js';
import { attempt } from './agent-from-config.js';
import { loadSubagents } from './subagent-files.js';

/** Options for subagents that files cannot set, and factories for the models and capabilities that files name. */
export interface SubagentsInFiles extends Pick<SubagentsConfig, 'runner' | 'models' | 'settings'> {
  /** Creates the models that definitions describe. Without it, definitions can only use names in `models`. */
  model?(reference: ModelReference): Model | Promise<Model>;
  /** Creates the capabilities of definitions. Without it, subagents have no capabilities of their own. */
  readonly registry?: CapabilityRegistry;
}

const SUBJECT = 'subagents configuration';

const { runner, models, settings, clock, ...shape } = subagentsConfigSchema.shape;

const schema = z.strictObject({
  ...shape,
  /** Subagents in addition to those in the folder, with the keys of an agent's file. */
  definitions: z.array(z.record(z.string(), z.unknown())).default([]),
});

/** Returns the capability `subagents` for configuration files. */
export function subagentsInFiles({
  model,
  registry = new CapabilityRegistry(),
  ...given
}: SubagentsInFiles = {}): FileCapability {
  return {
    jsonSchema: withProperties(fileJsonSchema(schema), {
      definitions: { type: 'array', items: memberJsonSchema() },
    }),
    async create(config) {
      const { members, folders } = read(config);
      const issues: Issue[] = [];
      const offered: Record<string, Model> = { ...given.models };
      const nameOf = async (path: string, reference: ModelReference): Promise<string> => {
        const name = subagentModelName(reference);
        if (model !== undefined && !Object.hasOwn(offered, name)) {
          await attempt(issues, path, async () => {
            offered[name] = await model(reference);
          });
        }
        return name;
      };
      const declared: SubagentDefinition[] = [];
      for (const [index, member] of members.entries()) {
        const at = `definitions[${index}]`;
        const capabilities: Capability[] = [];
        for (const { place: own, ...reference } of member.capabilities) {
          const place = { path: `${at}.${own.path}`, config: `${at}.${own.config}` };
          await attempt(issues, place.path, async () => {
            capabilities.push(await registry.load(reference, place));
          });
        }
        const others: string[] = [];
        for (const [n, reference] of (member.fallback ?? []).entries()) {
          others.push(await nameOf(`${at}.fallback[${n}]`, reference));
        }
        declared.push({
          ...member.definition,
          ...member.narrowing,
          systemPrompt: member.systemPrompt,
          settings: member.settings,
          capabilities,
          ...(member.fallback === undefined ? {} : { fallback: others }),
          ...(member.model === undefined ? {} : { model: await nameOf(`${at}.model`, member.model) }),
        });
      }
      if (issues.length > 0) throw new HarnessConfigError(issues);
      return subagents(declared, { ...folders, ...given, models: offered });
    },
  };
}

/** @throws {InvalidInputError} naming the path of every bad key. */
function read(config: unknown) {
  const { definitions, ...folders } = parseFileConfig(schema, config ?? {}, SUBJECT);
  const issues: Issue[] = [];
  const members = definitions.flatMap((written, index) => {
    try {
      return parseMember(written, SUBJECT);
    } catch (error) {
      issues.push(...issuesOf(error, `definitions[${index}]`));
      return [];
    }
  });
  if (issues.length > 0) throw new InvalidInputError(SUBJECT, issues);
  return { members, folders };
}

/**
 * Returns the name of a described model in `subagents(…, { models })`: its id, with its options in parentheses if it
 * has any.
 */
function subagentModelName({ id, contextWindow, nativeCompaction }: ModelReference): string {
  const more = { contextWindow, nativeCompaction };
  const said = Object.entries(more).flatMap(([key, value]) => (value === undefined ? [] : `${key} ${value}`));
  return said.length === 0 ? id : `${id} (${said.join(', ')})`;
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
  const { members, folders } = read(config);
  const taken = new Set([GENERAL_PURPOSE.name, ...members.map(({ definition }) => definition.name)]);
  const named = members.flatMap(({ model, fallback = [] }) => [...(model ? [model] : []), ...fallback]);
  return (await loadSubagents(workspace, folders.folder, { taken, models: named.map(subagentModelName) }))
    .problems;
}
