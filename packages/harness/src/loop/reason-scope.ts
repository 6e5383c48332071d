import { type Message, type ReasonScope, userMessage } from '@x/core';
import { isObject } from '@x/core/internal';
import type { ToolDefinition } from '@x/core/messages';
import { hookInvalid } from '../errors/harness-error.js';
import { DROPPED, type RunningCall } from './running-call.js';

/** Creates the scope that the hooks of one reasoning step get. */
export async function reasonScope(call: RunningCall): Promise<ReasonScope> {
  const sections = [call.settings.systemPrompt];
  const reminders: Message[] = [];
  for (const capability of call.capabilities) {
    const { name } = capability;
    const section = await call.waitFor(`system of "${name}"`, () => capability.system?.(call.scope));
    if (section != null && typeof section !== 'string') {
      throw hookInvalid(`system of "${name}"`, section, 'return a text, or nothing');
    }
    if (section) sections.push(section);
    const messages = await call.waitFor(`remind of "${name}"`, () => capability.remind?.(call.scope));
    if (messages != null && (!Array.isArray(messages) || messages.some((one) => !isObject(one)))) {
      throw hookInvalid(`remind of "${name}"`, messages, 'return a list of messages');
    }
    reminders.push(...(messages ?? []));
  }
  const dropped = call.scope.state.context.findLast(({ role }) => role === 'assistant')?.metadata?.[DROPPED];
  if (dropped !== undefined) {
    const text = `${dropped} calls of your last answer were not run, and are left out: an answer may have at most ${call.settings.limits.answerCalls} calls. Make them again, in later answers.`;
    reminders.push(userMessage(text, { kind: 'synthetic' }));
  }
  const scope: ReasonScope = {
    ...call.scope,
    step: call.step,
    system: sections.filter(Boolean).join('\n\n'),
    tools: toolsWith(call, call.answerTool),
    reminders,
  };
  call.reason = scope;
  return scope;
}

/** Returns the tools of this step, including `final_answer` if the answer is requested through it. */
function toolsWith(call: RunningCall, answer: ToolDefinition | undefined): readonly ToolDefinition[] {
  const names = call.control.tools;
  let offered = call.tools.definitions;
  for (const capability of call.capabilities) {
    const chosen = capability.offerTools?.(offered, call.scope) ?? offered;
    if (!Array.isArray(chosen) || chosen.some((one) => !isObject(one))) {
      throw hookInvalid(
        `offerTools of "${capability.name}"`,
        chosen,
        'return a list of tools, not a promise',
      );
    }
    offered = chosen;
  }
  if (names !== undefined) offered = offered.filter(({ name }) => names.includes(name));
  return answer === undefined ? offered : [...offered, answer];
}
