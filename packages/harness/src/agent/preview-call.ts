import { type PendingCall, type RuntimeContext, readText, WorkspaceError } from '@x/core';
import { type RenderedCall, renderCall } from '../view/render-call.js';
import type { HarnessAgent } from './harness-agent.js';

/** Maximum size in bytes of a file that a preview diffs. */
const MOST_BYTES = 1_000_000;

/**
 * Renders a pending call with what a person needs for the decision: the diff to the file that it would replace, or the plan to
 * approve.
 *
 * @example
 * ```ts
 * import type { RuntimeContext } from '@x/core';
 * import { type HarnessAgent, pendingCalls, previewCall } from '@x/harness';
 *
 * export async function questions(agent: HarnessAgent, session: RuntimeContext): Promise<string[]> {
 *   const state = await agent.state(session);
 *   const calls = await Promise.all(pendingCalls(state).map((call) => previewCall(agent, session, call)));
 *   const textOf = (lines: readonly { readonly text: string }[]) => lines.map(({ text }) => text).join('\n');
 *   return calls.map(({ wants, lines, rest }) => `It wants to ${wants}.\n${textOf([...lines, ...rest])}`);
 * }
 * ```
 */
export async function previewCall(
  agent: HarnessAgent,
  context: RuntimeContext,
  call: PendingCall,
): Promise<RenderedCall> {
  if (call.name === 'plan_exit') return renderCall(call, { plan: await planOf(agent, context) });
  const { change } = renderCall(call);
  return renderCall(call, {
    before: change?.before ?? (change && (await fileOf(agent, context, change.path))),
  });
}

/** Reads a file that would be replaced. Returns `null` if there is none, and `undefined` if it cannot be compared. */
async function fileOf(
  agent: HarnessAgent,
  context: RuntimeContext,
  path: string,
): Promise<string | null | undefined> {
  try {
    const files = agent.files(context);
    const found = await files.stat(path);
    if (found === undefined) return null;
    return found.size > MOST_BYTES ? undefined : await readText(files, path);
  } catch (error) {
    if (WorkspaceError.isInstance(error)) return undefined;
    throw error;
  }
}

async function planOf(agent: HarnessAgent, context: RuntimeContext): Promise<string | undefined> {
  const path = (await agent.state(context))?.planModeContext.planFile;
  if (path === undefined) return undefined;
  return (await agent.storage.stat(path)) ? `${path}:\n\n${await readText(agent.storage, path)}` : undefined;
}
