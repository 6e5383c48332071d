import { type Capability, parseWith, userMessage } from '@x/core';
import * as z from 'zod';
import type { Runs } from './runs.js';
import { definitionSchema, type Subagent, type SubagentDefinition } from './subagent-definition.js';
import {
  NAME,
  parseSubagentsConfig,
  type SubagentsConfig,
  type SubagentsSettings,
} from './subagents-config.js';
import { isOpen } from './task.js';
import { Team } from './team.js';
import { tasksReminder, teamTools } from './tools.js';

const declaredSchema = z.object({ definitions: z.array(definitionSchema) });

/**
 * Lets the agent give work to subagents. They are made of its own parts, each with a window, a compaction and a session of
 * its own, and keep to its permissions and plan mode. They come from `definitions` and from Markdown files in `subagents/`
 * of the workspace; one is built in (`general-purpose`).
 *
 * The model waits for the work, or lets it go on in the background. What became of a task is in the subagent's session, and
 * the model hears of the end of each task exactly once.
 *
 * @example
 * ```ts
 * import { HarnessAgent, subagents, workspaceTools } from '@x/harness';
 *
 * const agent = HarnessAgent.builder()
 *   .model(model)
 *   .use(workspaceTools())
 *   .use(subagents([{ name: 'reviewer', description: 'Reviews a change.', systemPrompt: 'You review code.' }]))
 *   .build();
 * ```
 * @throws {InvalidInputError} for a malformed definition or configuration.
 */
export function subagents(
  definitions: readonly SubagentDefinition[] = [],
  config: SubagentsConfig = {},
): Capability {
  const { definitions: declared } = parseWith(declaredSchema, { definitions }, 'subagents configuration');
  return teamAt(1, declared, parseSubagentsConfig(config));
}

function teamAt(
  depth: number,
  declared: readonly Subagent[],
  settings: SubagentsSettings,
  runs?: Runs,
): Capability {
  // A subagent's own subagents run in its process.
  const below = { ...settings, runner: undefined };
  const nest = (tree: Runs) => teamAt(depth + 1, declared, below, tree);
  const team = new Team({ declared, settings, runs, nest: depth < settings.maxDepth ? nest : undefined });
  return {
    name: NAME,
    tools: teamTools(team),
    install: (agent) => team.install(agent),
    aroundCall: (scope, next) => team.during(scope, next),
    async system(scope) {
      const { subagents: known } = await team.session(scope);
      const lines = [...known.values()].map(({ name, description }) => `- ${name}: ${description}`);
      return ['# Subagents', 'agent_spawn gives a task to one of these:', ...lines].join('\n');
    },
    async remind(scope) {
      const session = await team.session(scope);
      // The model hears of each end once: the commit that stores its answer stores that it was told.
      session.showing = (await team.news(session)).filter(
        (task) => !isOpen(task) && task.status !== task.told,
      );
      if (session.showing.length === 0) return [];
      const text = tasksReminder(session.showing);
      return [userMessage(text, { id: 'finished-tasks', kind: 'synthetic' })];
    },
    async aroundReason(scope, next) {
      const response = await next();
      const session = await team.session(scope);
      team.told(session, session.showing);
      session.showing = [];
      return response;
    },
    close: () => team.close(),
  };
}
