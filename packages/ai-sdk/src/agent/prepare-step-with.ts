import { type Compactor, parseWith, tell } from '@x/core';
import { type AgentCompactionOptions, agentCompactionSchema } from './agent-options.js';
import { Reductions } from './reductions.js';
import type { SdkMessage } from './sdk-message.js';
import { type FinishedStep, usageRatio } from './usage-ratio.js';

/**
 * The compactor as `prepareStep` of `ToolLoopAgent`, `generateText` and `streamText`: before every step the conversation
 * is reduced when it is due. Between reductions each step sends the same beginning byte for byte. What was reduced is
 * found again by its content, also in later calls with the same history and, with `remember`, in other processes;
 * messages that were not altered stay the very objects they were. With `contextWindow` it learns from the usage of the
 * steps how the provider counts.
 *
 * @throws {InvalidInputError} for options that do not fit.
 */
export function prepareStepWith(compactor: Compactor, options: AgentCompactionOptions = {}) {
  const { onCompaction, system, remember, contextWindow, tools } = parseWith(
    agentCompactionSchema,
    options,
    'prepareStepWith options',
  );
  const reductions = new Reductions(compactor, remember);
  return async <Message extends SdkMessage>({
    messages,
    instructions,
    steps = [],
  }: {
    readonly messages: readonly Message[];
    readonly instructions?: unknown;
    readonly steps?: readonly FinishedStep[];
  }): Promise<{ messages: Message[] }> => {
    const frame = { system: system ?? textIn(instructions), tools };
    const ratio = contextWindow === undefined ? 1 : usageRatio(reductions, messages, steps, frame);
    const reduced = await reductions.reduce(messages, {
      ...frame,
      // A provider that counts twice as much as we do has half the window, in our tokens.
      ...(contextWindow === undefined
        ? {}
        : { contextWindow: Math.max(1, Math.round(contextWindow / ratio)) }),
      reason: 'proactive_budget',
    });
    tell('onCompaction', onCompaction, reduced.outcome);
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
