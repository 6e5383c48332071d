import { type Compactor, parseWith } from '@x/core';
import { type AgentCompactionOptions, agentCompactionSchema } from './agent-options.js';
import { Reductions } from './reductions.js';
import type { SdkMessage } from './sdk-message.js';

/**
 * The compactor as `prepareStep` of `ToolLoopAgent`, `generateText` and `streamText`: before every step the conversation
 * is reduced when it is due. Between reductions each step sends the same beginning byte for byte. What was reduced is
 * found again by its content, also in later calls with the same history; messages that were not altered stay the very
 * objects they were.
 *
 * @throws {InvalidInputError} for options that do not fit.
 */
export function prepareStepWith(compactor: Compactor, options: AgentCompactionOptions = {}) {
  const { maxReductions, onCompaction, system, ...request } = parseWith(
    agentCompactionSchema,
    options,
    'prepareStepWith options',
  );
  const reductions = new Reductions(compactor, maxReductions);
  return async <Message extends SdkMessage>({
    messages,
    instructions,
  }: {
    readonly messages: readonly Message[];
    readonly instructions?: unknown;
  }): Promise<{ messages: Message[] }> => {
    const reduced = await reductions.reduce(messages, {
      ...request,
      system: system ?? textIn(instructions),
      reason: 'proactive_budget',
    });
    onCompaction?.(reduced.outcome);
    return { messages: [...reduced.messages] };
  };
}

/** Instructions as version 7 of the SDK hands them over: a text, a system message, or several. */
function textIn(instructions: unknown): string | undefined {
  if (typeof instructions === 'string') return instructions;
  if (Array.isArray(instructions)) return instructions.map(textIn).join('\n');
  const { content } = (instructions ?? {}) as { readonly content?: unknown };
  return typeof content === 'string' ? content : undefined;
}
