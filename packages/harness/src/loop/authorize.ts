import type { Objection, Tool, ToolScope, ToolUseBlock } from '@x/core';
import type { RunningCall } from './running-call.js';

/** The strictest objection of all capabilities: a denial before a question before none. */
export async function authorize(
  call: RunningCall,
  use: ToolUseBlock,
  tool: Tool | undefined,
): Promise<Objection | undefined> {
  const scope: ToolScope = { ...call.scope, tool };
  const questions: Extract<Objection, { type: 'ask' }>[] = [];
  for (const capability of call.options.parts.capabilities) {
    if (capability.authorize === undefined) continue;
    const objection = await ask(call, capability.name, async () => capability.authorize?.(use, scope));
    if (objection?.type === 'deny') return objection;
    if (objection) questions.push(objection);
  }
  const [first, ...others] = questions;
  if (first === undefined || others.length === 0) return first;
  // A rule would silence one of them alone, so none is suggested.
  const reasons = questions.flatMap(({ reason }) => reason ?? []);
  return { type: 'ask', ...(reasons.length > 0 ? { reason: reasons.join(' ') } : {}) };
}

/** What cannot be judged is not allowed. */
async function ask(
  call: RunningCall,
  source: string,
  judge: () => Promise<Objection | undefined>,
): Promise<Objection | undefined> {
  try {
    return await judge();
  } catch (error) {
    call.scope.signal.throwIfAborted();
    const message = error instanceof Error ? error.message : String(error);
    call.emit({ type: 'warning', source, message: `A tool call could not be judged: ${message}` });
    return { type: 'deny', reason: `Whether it is allowed could not be found out: ${message}` };
  }
}
