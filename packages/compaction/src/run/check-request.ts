import { type CompactOptions, InvalidInputError, type Message } from '@x/core';
import { having, type Issue, parseWith } from '@x/core/internal';
import { checkMessages, type ToolDefinition } from '@x/core/messages';
import * as z from 'zod/mini';

const optionsSchema = z.strictObject({
  reason: z.optional(z.enum(['proactive_budget', 'request_too_large', 'manual'])),
  instructions: z.optional(z.string()),
  signal: z.optional(having<AbortSignal>('aborted', 'an AbortSignal')),
  system: z.optional(z.string()),
  tools: z.optional(z.array(having<ToolDefinition>('name', 'a tool definition'))),
  contextWindow: z.optional(z.number().check(z.minimum(1))),
  tokenRatio: z.optional(z.number().check(z.gt(0))),
  appendix: z.optional(z.string()),
  pins: z.optional(z.array(z.looseObject({ id: z.string(), text: z.string().check(z.minLength(1)) }))),
  upTo: z.optional(z.string()),
  logLocation: z.optional(z.string()),
  recall: z.optional(z.string('is a text that tells the model about the tool, such as RECALL_HINT')),
});

const REMEDY =
  'Make messages with userMessage and its kin, or read them with messageSchema. openaiMessages() and anthropicMessages() of ' +
  '@x/compaction/messages read those of the APIs; adapters for other libraries are in @x/ai-sdk, @x/openai-agents and @x/langchain.';

/**
 * Rejects invalid messages and options, such as messages of another library.
 *
 * @throws {InvalidInputError} naming every invalid field of the messages, and every bad option.
 */
export function checkRequest(messages: readonly Message[], options: CompactOptions): void {
  parseWith(optionsSchema, options, 'compact options');
  if (!Array.isArray(messages)) refuse([{ path: 'messages', message: 'must be a list of messages' }]);
  try {
    checkMessages(messages, 'conversation', 'messages');
  } catch (error) {
    if (!InvalidInputError.isInstance(error)) throw error;
    refuse(error.issues);
  }
}

function refuse(issues: readonly Issue[]): never {
  throw new InvalidInputError('conversation', issues, { remedy: REMEDY });
}

/** Finds the first duplicate id; a manifest could not tell the two messages apart. */
export function sharedId(messages: readonly Message[]): string | undefined {
  const seen = new Set<string>();
  return messages.find(({ id }) => seen.size === seen.add(id).size)?.id;
}
