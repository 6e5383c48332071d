import {
  type CompactOptions,
  InvalidInputError,
  type Message,
  parseWith,
  type ToolDefinition,
} from '@x/core';
import * as z from 'zod/mini';

const holding = <Value>(key: string, what: string) =>
  z.custom<Value>((value) => typeof value === 'object' && value !== null && key in value, `must be ${what}`);

const optionsSchema = z.strictObject({
  reason: z.optional(z.enum(['proactive_budget', 'request_too_large', 'manual'])),
  instructions: z.optional(z.string()),
  signal: z.optional(holding<AbortSignal>('aborted', 'an AbortSignal')),
  system: z.optional(z.string()),
  tools: z.optional(z.array(holding<ToolDefinition>('name', 'a tool definition'))),
  contextWindow: z.optional(z.number().check(z.minimum(1))),
  appendix: z.optional(z.string()),
  logLocation: z.optional(z.string()),
  recall: z.optional(z.string()),
});

const REMEDY =
  'Make messages with userMessage and its kin, or read them with messageSchema. openaiMessages() and anthropicMessages() of ' +
  '@x/compaction/messages read those of the APIs; adapters for other libraries are in @x/ai-sdk, @x/openai-agents and @x/langchain.';

/**
 * Refuses what is no request: messages of another library most of all. Looks at the outside of messages and blocks alone,
 * since a conversation is compacted again and again.
 *
 * @throws {InvalidInputError} naming the first bad message, and every bad option.
 */
export function checkRequest(messages: readonly Message[], options: CompactOptions): void {
  parseWith(optionsSchema, options, 'compact options');
  if (!Array.isArray(messages)) refuse('messages', 'must be a list of messages');
  for (const [index, message] of (messages as readonly (Partial<Message> | null)[]).entries()) {
    if (typeof message !== 'object' || message === null) refuse(`messages[${index}]`, 'must be a message');
    const { id, content } = message;
    if (typeof id !== 'string' || id === '') refuse(`messages[${index}].id`, 'must be a non-empty string');
    if (!Array.isArray(content)) refuse(`messages[${index}].content`, 'must be a list of blocks');
    for (const [place, block] of (content as readonly unknown[]).entries()) {
      const fault = faultOf(block);
      if (fault !== undefined)
        refuse(`messages[${index}].content[${place}]${fault}`, 'is missing or no text');
    }
  }
}

/** The texts without which a block of a type is none. */
const TEXTS: Readonly<Record<string, readonly string[]>> = {
  text: ['text'],
  thinking: ['thinking'],
  tool_use: ['id', 'name'],
  tool_result: ['toolUseId'],
};

function faultOf(block: unknown): string | undefined {
  const fields = Object(block) as Readonly<Record<string, unknown>>;
  if (typeof fields.type !== 'string') return '.type';
  const missing = (TEXTS[fields.type] ?? []).find((key) => typeof fields[key] !== 'string');
  return missing === undefined ? undefined : `.${missing}`;
}

function refuse(path: string, message: string): never {
  throw new InvalidInputError('conversation', [{ path, message }], { remedy: REMEDY });
}

/** Finds the first duplicate id; a manifest could not tell the two messages apart. */
export function sharedId(messages: readonly Message[]): string | undefined {
  const seen = new Set<string>();
  return messages.find(({ id }) => seen.size === seen.add(id).size)?.id;
}
