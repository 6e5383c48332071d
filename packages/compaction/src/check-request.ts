import {
  type CompactOptions,
  InvalidInputError,
  type Message,
  parseWith,
  type ToolDefinition,
} from '@x/core';
import { z } from 'zod';

const holding = <Value>(key: string, what: string) =>
  z.custom<Value>((value) => typeof value === 'object' && value !== null && key in value, `must be ${what}`);

const optionsSchema = z.strictObject({
  reason: z.enum(['proactive_budget', 'request_too_large', 'manual']).optional(),
  instructions: z.string().optional(),
  signal: holding<AbortSignal>('aborted', 'an AbortSignal').optional(),
  system: z.string().optional(),
  tools: z.array(holding<ToolDefinition>('name', 'a tool definition')).optional(),
  contextWindow: z.number().min(1).optional(),
  carry: z.string().optional(),
  logLocation: z.string().optional(),
});

const REMEDY =
  'Make messages with userMessage and its kin, or read them with messageSchema; adapters for other libraries are in ' +
  '@x/ai-sdk, @x/openai-agents and @x/compaction/langchain.';

/**
 * Refuses what is no request: messages of another library most of all. Looks at the outside of each message alone, since a
 * conversation is compacted again and again.
 *
 * @throws {InvalidInputError} naming the first bad message, and every bad option.
 */
export function checkRequest(messages: readonly Message[], options: CompactOptions): void {
  parseWith(optionsSchema, options, 'compact options');
  const refuse = (path: string, message: string) => {
    throw new InvalidInputError('conversation', [{ path, message }], { remedy: REMEDY });
  };
  if (!Array.isArray(messages)) refuse('messages', 'must be a list of messages');
  messages.forEach((message: Partial<Message> | null, index) => {
    const path = `messages[${index}]`;
    if (typeof message !== 'object' || message === null) return refuse(path, 'must be a message');
    if (typeof message.id !== 'string' || message.id === '')
      refuse(`${path}.id`, 'must be a non-empty string');
    if (!Array.isArray(message.content)) refuse(`${path}.content`, 'must be a list of blocks');
  });
}

/** An id that two messages have, or `undefined`: nothing could be told of either of them. */
export function sharedId(messages: readonly Message[]): string | undefined {
  const seen = new Set<string>();
  return messages.find(({ id }) => seen.size === seen.add(id).size)?.id;
}
