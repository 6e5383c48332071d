import { type Capability, parseWith, userMessage } from '@x/core';
import * as z from 'zod';
import { agentListTool, agentSendTool, agentSpawnTool } from './agent-tools.js';
import { tasksReminder } from './render-task.js';
import { definitionSchema, type Subagent, type SubagentDefinition } from './subagent-definition.js';
import {
  NAME,
  parseSubagentsConfig,
  type SubagentsConfig,
  type SubagentsSettings,
} from './subagents-config.js';
import { taskCancelTool, taskListTool, taskOutputTool, waitAsyncResultsTool } from './task-tools.js';
import { type SubTeam, Team } from './team.js';

const declaredSchema = z.object({ definitions: z.array(definitionSchema) });

/**
 * Lets the agent give work to subagents. They are made of its own parts, each with a window, a compaction and a session of
 * its own, and keep to its permissions and plan mode. They come from `definitions` and from Markdown files in `subagents/`
 * of the workspace; one is built in (`general-purpose`).
 *
 * The model waits for the work, or lets it go on in the background. Records of tasks survive the process, and the model
 * hears of the end of each task exactly once.
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
  return subagentsAt(1, declared, parseSubagentsConfig(config)).capability;
}

function subagentsAt(depth: number, declared: readonly Subagent[], settings: SubagentsSettings): SubTeam {
  // A subagent's own subagents run in its process.
  const below = { ...settings, runner: undefined };
  const team = new Team(
    declared,
    settings,
    depth === 1,
    depth < settings.maxDepth ? () => subagentsAt(depth + 1, declared, below) : undefined,
  );
  const capability: Capability = {
    name: NAME,
    tools: [
      agentSpawnTool(team),
      agentSendTool(team),
      agentListTool(team),
      taskOutputTool(team),
      taskListTool(team),
      taskCancelTool(team),
      waitAsyncResultsTool(team),
    ],
    install: (agent) => team.install(agent),
    async aroundCall(scope, next) {
      // A call that goes on with a decision runs tools before anything else.
      await team.session(scope);
      await next();
    },
    async system(scope) {
      const { subagents: known } = await team.session(scope);
      const lines = [...known.values()].map(({ name, description }) => `- ${name}: ${description}`);
      return ['# Subagents', 'agent_spawn gives a task to one of these:', ...lines].join('\n');
    },
    async remind(scope) {
      const { owner, tasks } = await team.session(scope);
      const mayHaveEnded = [...tasks.open].some((taskId) => !team.desk.isLive(taskId));
      const ended = tasks.show(mayHaveEnded ? await team.desk.list(owner) : []);
      if (ended.length === 0) return [];
      return [userMessage(tasksReminder(ended), { id: 'finished-tasks', kind: 'synthetic' })];
    },
    async aroundReason(scope, next) {
      const response = await next();
      (await team.session(scope)).tasks.answered();
      return response;
    },
    close: () => team.close(),
  };
  return { capability, team };
}
