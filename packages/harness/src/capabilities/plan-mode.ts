import {
  type AgentState,
  type Capability,
  defineTool,
  type Objection,
  SessionKey,
  type ToolScope,
  type ToolUseBlock,
  userMessage,
} from '@x/core';
import { parseWith } from '@x/core/internal';
import { fileSegment, sessionPrefix } from '@x/core/store';
import * as z from 'zod';
import { ToolReferences } from '../agent/tool-references.js';
import { HarnessError } from '../errors/harness-error.js';
import { parseRule } from '../lib/permission-rule.js';
import { isHarmless, textOfStrangers } from './permissions/judge.js';
import { covers, judgedCall } from './permissions/match-rule.js';

const NAME = 'plan_mode';
const SUBJECT = 'planMode configuration';

export const planModeConfigSchema = z.strictObject({
  /**
   * Requires a human to approve each plan before plan mode ends. If false, approval is needed only if the model
   * has read text from a server since its last final answer.
   */
  approval: z.boolean().default(true),
  /** Additional calls that are allowed while planning, as permission rules: for example `execute(git log *)`. */
  allow: z.array(z.string()).default([]),
});

export type PlanModeConfig = z.input<typeof planModeConfigSchema>;

/**
 * Adds plan mode: `plan_enter`, `plan_write` and `plan_exit`. While plan mode is on, tools that may change something
 * are denied, even if a rule allows them. The plan is one file per session below `plans/` of the storage. By default,
 * leaving plan mode requires a human's approval. `state.planModeContext` says whether plan mode is on and names the
 * plan's file. Every step reminds the model that plan mode is on.
 *
 * @example
 * ```ts
 * HarnessAgent.builder().use(workspaceTools(), planMode({ allow: ['execute(git log *)'] }));
 * ```
 * @throws {InvalidInputError} for a malformed configuration.
 */
export function planMode(config: PlanModeConfig = {}): Capability {
  const { approval, allow } = parseWith(planModeConfigSchema, config, SUBJECT);
  const allowed = allow.map((rule, index) => parseRule(rule, `allow[${index}]`, SUBJECT));
  const references = new ToolReferences(
    NAME,
    allowed.map(({ tool }, index) => ({ path: `allow[${index}]`, tool })),
  );

  return {
    name: NAME,
    tools: [planEnter, planWrite, planExit],
    ...references.hooks,
    remind({ state }) {
      const { active, planFile } = state.planModeContext;
      return active ? [userMessage(reminder(planFile), { id: 'plan-mode-reminder', kind: 'synthetic' })] : [];
    },
    async authorize(call, scope) {
      const { tool, state } = scope;
      if (tool === undefined || !state.planModeContext.active) return undefined;
      if (tool === planExit) return askToLeave(scope, approval);
      if (isHarmless(tool, false) || covers(allowed, await judgedCall(call, tool, scope.workspace, [])))
        return undefined;
      return {
        type: 'deny',
        reason:
          `Denied: plan mode is on, and ${call.name} may change something. Read, write the plan with plan_write, and ask ` +
          'the user to approve it with plan_exit.',
      };
    },
    aroundTool(call: ToolUseBlock, { tool, state, agentId }, next) {
      if (tool === planWrite && state.planModeContext.planFile === undefined) {
        state.planModeContext = { ...state.planModeContext, planFile: planFileOf(agentId, state) };
      }
      return next(call);
    },
  };
}

/**
 * Asks for approval of a plan, always if untrusted text may have influenced it. If there is no plan, the tool itself
 * answers the model.
 */
async function askToLeave({ state, storage }: ToolScope, approval: boolean): Promise<Objection | undefined> {
  const { planFile } = state.planModeContext;
  const strangers = textOfStrangers(state);
  const isDue = approval || strangers !== '';
  if (!isDue || planFile === undefined || (await storage.stat(planFile)) === undefined) return undefined;
  return { type: 'ask', reason: `Carry out the plan in ${planFile}?${strangers}` };
}

function reminder(planFile: string | undefined): string {
  const where = planFile === undefined ? 'There is no plan yet' : `The plan so far is in ${planFile}`;
  return (
    `<plan_mode>\nPlan mode is on: change nothing. ${where}; plan_write replaces it whole. When it is ready, call plan_exit ` +
    'to ask the user.\n</plan_mode>'
  );
}

/** Returns the path of a session's plan in the storage. Each session has its own file below `plans/`. */
function planFileOf(agentId: string, { tenantId, userId, sessionId }: AgentState): string {
  const key = SessionKey.of({ tenantId, userId, agentId, sessionId });
  return `plans/${sessionPrefix(key)}${fileSegment(sessionId)}.md`;
}

const planEnter = defineTool({
  name: 'plan_enter',
  description:
    'Starts plan mode: you cannot change anything until the user approves your plan. Use it before work that is large, ' +
    'risky, or could be done in several ways.',
  sessionOnly: true,
  input: z.strictObject({}),
  execute(_, { state }) {
    if (state.planModeContext.active) return 'Plan mode is already on.';
    state.planModeContext = { ...state.planModeContext, active: true };
    return 'Plan mode is on: read what you need, write the plan with plan_write, then call plan_exit.';
  },
});

const planWrite = defineTool({
  name: 'plan_write',
  description: 'Writes the plan in Markdown, and replaces the earlier one. Works only in plan mode.',
  sessionOnly: true,
  input: z.strictObject({ content: z.string().trim().min(1).describe('The whole plan') }),
  async execute({ content }, { state, storage }) {
    const { active, planFile } = state.planModeContext;
    if (!active || planFile === undefined) throw notPlanning();
    await storage.write(planFile, `${content}\n`);
    return `The plan is written to ${planFile}. Call plan_exit when it is ready for the user.`;
  },
});

const planExit = defineTool({
  name: 'plan_exit',
  description:
    'Asks the user to approve the plan. If they approve it, plan mode ends and you carry out the plan.',
  sessionOnly: true,
  input: z.strictObject({
    summary: z.string().optional().describe('The plan in a sentence or two, for the user'),
  }),
  async execute(_, { state, storage }) {
    const { active, planFile } = state.planModeContext;
    if (!active) throw notPlanning();
    if (planFile === undefined || (await storage.stat(planFile)) === undefined) {
      throw new HarnessError('no_plan', 'There is no plan yet: write it with plan_write first.');
    }
    state.planModeContext = { ...state.planModeContext, active: false };
    return `The plan is approved and plan mode is over. Carry the plan out; it stays in ${planFile}.`;
  },
});

function notPlanning(): HarnessError {
  return new HarnessError('no_plan', 'Plan mode is not on: begin with plan_enter.');
}
