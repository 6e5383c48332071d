import { isObject } from '@x/core/internal';
import {
  aiSdkDialect,
  anthropicDialect,
  type Dialect,
  geminiDialect,
  itemRole,
  openaiChatDialect,
  openaiItems,
  partsOf,
  readBlocks,
} from '@x/core/messages';
import * as z from 'zod';
import type { ConversationBuilder } from './conversation-builder.js';
import { type Importer, importerOf } from './importer.js';

/** Returns a function that reads one message. Adjacent answers stay separate, because these formats have one message per answer. */
function messageReader(
  dialect: Dialect,
): Parameters<typeof importerOf<{ readonly role: string }>>[0]['readEntry'] {
  return (message, builder, index) =>
    builder.message(message.role, readBlocks(dialect, message), { answer: `answer-${index}` });
}

/** Tests whether a message has a part of one of the types. */
function hasPart(value: unknown, ...types: readonly string[]): boolean {
  return isObject(value) && partsOf(value.content).some(({ type }) => types.includes(type));
}

/** Messages of OpenAI's Chat Completions API, which most other providers accept too. */
export const openaiChat = importerOf({
  format: 'openai-chat',
  describes: 'messages of the Chat Completions API (JSON array or JSONL)',
  entry: openaiChatDialect.schema,
  readEntry: messageReader(openaiChatDialect),
});

/** Messages of Anthropic's Messages API. */
export const anthropicMessages = importerOf({
  format: 'anthropic-messages',
  describes: "messages of Anthropic's Messages API (JSON array or JSONL)",
  // An entry may be a tool result without a message around it.
  entry: z.preprocess(
    (value) => (isObject(value) && value.type === 'tool_result' ? { role: 'user', content: [value] } : value),
    anthropicDialect.schema,
  ),
  recognizes: (value) =>
    hasPart(value, 'tool_use', 'tool_result') && anthropicDialect.schema.safeParse(value).success,
  readEntry: messageReader(anthropicDialect),
});

const modelMessage = z.looseObject({
  role: z.enum(['system', 'user', 'assistant', 'tool']),
  content: z.union([z.string(), z.array(z.unknown())]),
});

/** `ModelMessage`s of the AI SDK, as in `result.response.messages`. */
export const aiSdkModelMessages = importerOf({
  format: 'ai-sdk-model-messages',
  describes: 'ModelMessage arrays of the AI SDK (JSON)',
  entry: modelMessage,
  recognizes: (value) => hasPart(value, 'tool-call', 'tool-result') && modelMessage.safeParse(value).success,
  readEntry: messageReader(aiSdkDialect),
});

const geminiContent = z.looseObject({
  role: z.enum(['user', 'model', 'function']),
  parts: z.array(z.looseObject({})),
});

/** Contents of Google's Gemini API. */
export const geminiContents = importerOf({
  format: 'gemini-contents',
  describes: "contents of Google's Gemini API (JSON array or JSONL)",
  entry: geminiContent,
  choose: withCallIds,
  recognizes: (value) =>
    isObject(value) && ['user', 'model'].includes(String(value.role)) && areGeminiParts(value.parts),
  readEntry: ({ role, ...content }, builder, index) =>
    builder.message(role === 'model' ? 'assistant' : role, readBlocks(geminiDialect, content), {
      answer: `answer-${index}`,
    }),
});

/**
 * Adds ids to calls and results without ids, which the Gemini API matches by name and order. An id consists of the tool's name, the index of
 * the content with the call, and the number of earlier calls of the tool in this content.
 */
function withCallIds(contents: readonly z.output<typeof geminiContent>[]): typeof contents {
  let turn = 0;
  const counts = new Map<string, number>();
  return contents.map((content, index) => {
    if (content.parts.some((part) => 'functionCall' in part)) {
      turn = index;
      counts.clear();
    }
    const parts = content.parts.map((part) => {
      const kind = 'functionCall' in part ? 'functionCall' : 'functionResponse';
      const held = part[kind];
      if (!isObject(held) || typeof held.id === 'string') return part;
      const count = counts.get(`${kind} ${held.name}`) ?? 0;
      counts.set(`${kind} ${held.name}`, count + 1);
      return { ...part, [kind]: { ...held, id: `${held.name}-${turn}-${count}` } };
    });
    return { ...content, parts };
  });
}

/** Tests for Gemini's parts. Unlike the parts of an AI SDK `UIMessage`, they have no `type`. */
function areGeminiParts(parts: unknown): boolean {
  return (
    Array.isArray(parts) && parts.length > 0 && parts.every((part) => isObject(part) && !('type' in part))
  );
}

const texts = z.array(z.looseObject({ text: z.string() })).nullish();

const item = z.union([
  z.looseObject({
    type: z.literal('message'),
    role: z.string(),
    content: z.union([z.string(), z.array(z.unknown())]),
  }),
  z.looseObject({ type: z.literal('reasoning'), summary: texts, content: texts }),
  z.looseObject({ type: z.string().regex(/_(?:call|output)$/), call_id: z.string() }),
]);

/** Items of OpenAI's Responses API: an array of its `input` and `output`, or one item per line. */
export const openaiResponses: Importer = {
  format: 'openai-responses',
  describes: "items of OpenAI's Responses API (JSON array or JSONL)",
  recognizes: (value) => item.safeParse(value).success,
  read(values, builder) {
    for (const value of values) readItem(value, undefined, builder);
  },
};

/** Items without a role. Calls that the provider ran itself have no call id. */
const known = z.union([item, z.looseObject({ type: z.string().regex(/_call$|^compaction|^mcp_/) })]);

/** Matches texts that Codex itself writes in the user's role: one element, or the instructions of a project. */
const WRITTEN_BY_PROGRAM =
  /^\s*(?:<(?:environment_context|user_instructions|INSTRUCTIONS|permissions instructions|turn_aborted|subagent_notification|skill|user_shell_command|collaboration_mode|personality_spec|hook_prompt)[\s>]|# AGENTS\.md instructions)/;
const wasTyped = (text: string) => !WRITTEN_BY_PROGRAM.test(text);

/** Adds one item. Calls that the provider ran itself, such as a web search, have no result in the log. */
export function readItem(value: unknown, at: string | undefined, builder: ConversationBuilder): void {
  if (isObject(value) && (typeof value.role === 'string' || known.safeParse(value).success))
    builder.message(itemRole(value), readBlocks(openaiItems, value), { at, wasTyped });
  else builder.unread('item of an unknown shape');
}
