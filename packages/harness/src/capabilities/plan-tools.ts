import { defineTool } from '@x/core';
import { z } from 'zod';
import { HarnessError } from '../errors/harness-error.js';

export const planEnter = defineTool({
  name: 'plan_enter',
  description:
    'Begins planning: until the user has approved your plan, nothing can be changed. Use it before work that is large, ' +
    'risky or open to several ways of doing it.',
  sessionOnly: true,
  input: z.strictObject({}),
  execute(_, { state }) {
    if (state.planModeContext.active) return 'Plan mode is on already.';
    state.planModeContext = { ...state.planModeContext, active: true };
    return 'Plan mode is on: read what you need, write the plan with plan_write, then call plan_exit.';
  },
});

export const planWrite = defineTool({
  name: 'plan_write',
  description: 'Writes the plan, in Markdown, replacing the one before. Only in plan mode.',
  sessionOnly: true,
  input: z.strictObject({ content: z.string().trim().min(1).describe('The whole plan') }),
  async execute({ content }, { state, workspace }) {
    const { active, planFile } = state.planModeContext;
    if (!active || planFile === undefined) throw notPlanning();
    await workspace.write(planFile, `${content}\n`);
    return `The plan is written to ${planFile}. Call plan_exit when it is ready for the user.`;
  },
});

export const planExit = defineTool({
  name: 'plan_exit',
  description: 'Asks the user to approve the plan. When they do, plan mode ends and you carry the plan out.',
  sessionOnly: true,
  input: z.strictObject({
    summary: z.string().optional().describe('The plan in a sentence or two, for the user'),
  }),
  async execute(_, { state, workspace }) {
    const { active, planFile } = state.planModeContext;
    if (!active) throw notPlanning();
    if (planFile === undefined || (await workspace.stat(planFile)) === undefined) {
      throw new HarnessError('no_plan', 'There is no plan yet: write it with plan_write first.');
    }
    state.planModeContext = { ...state.planModeContext, active: false };
    return `The plan is approved and plan mode is over. Carry the plan out; it stays in ${planFile}.`;
  },
});

function notPlanning(): HarnessError {
  return new HarnessError('no_plan', 'Plan mode is not on: begin with plan_enter.');
}
