// Separate from the types, so that a compactor alone does not load the schemas.
import * as z from 'zod';
import { jsonObjectSchema, jsonValueSchema } from '../lib/json-schemas.js';
import type { Message } from './message.js';

// Objects are loose: unknown fields of later versions are kept.

/** Data that a provider attached to a block. It is kept byte for byte and sent back to that provider. */
const providerMetadata = jsonObjectSchema.optional();

const textBlockSchema = z.looseObject({ type: z.literal('text'), text: z.string(), providerMetadata });

const thinkingBlockSchema = z.looseObject({
  type: z.literal('thinking'),
  thinking: z.string(),
  signature: z.string().optional(),
  providerMetadata,
});

const fileSourceSchema = z.discriminatedUnion('type', [
  /** Inline bytes. */
  z.looseObject({ type: z.literal('base64'), data: z.string() }),
  z.looseObject({ type: z.literal('url'), url: z.string() }),
  /** A file in the agent's workspace. */
  z.looseObject({ type: z.literal('workspace'), path: z.string() }),
  /** A file that the provider already holds. */
  z.looseObject({ type: z.literal('provider'), provider: z.string(), id: z.string() }),
]);

const fileBlockSchema = z.looseObject({
  type: z.literal('file'),
  mediaType: z.string(),
  source: fileSourceSchema,
  filename: z.string().optional(),
  providerMetadata,
});

const toolUseBlockSchema = z.looseObject({
  type: z.literal('tool_use'),
  id: z.string().min(1),
  name: z.string(),
  input: jsonValueSchema,
  providerMetadata,
});

export const toolOutputBlockSchema = z.discriminatedUnion('type', [textBlockSchema, fileBlockSchema]);

const toolResultBlockSchema = z.looseObject({
  type: z.literal('tool_result'),
  toolUseId: z.string(),
  toolName: z.string(),
  output: z.array(toolOutputBlockSchema),
  isError: z.boolean(),
  providerMetadata,
});

const opaqueBlockSchema = z.looseObject({
  type: z.literal('opaque'),
  provider: z.string(),
  data: jsonValueSchema,
  callId: z.string().optional(),
  half: z.enum(['call', 'result']).optional(),
  tokens: z.number().min(0).optional(),
  providerMetadata,
});

/** One block of a message, of any type. */
export const contentBlockSchema = z.discriminatedUnion('type', [
  textBlockSchema,
  thinkingBlockSchema,
  fileBlockSchema,
  toolUseBlockSchema,
  toolResultBlockSchema,
  opaqueBlockSchema,
]);

/** Unknown fields are kept, so that reading a message loses nothing. */
export const messageSchema: z.ZodType<Message> = z.looseObject({
  id: z.string().min(1),
  role: z.enum(['system', 'user', 'assistant', 'tool']),
  content: z.array(contentBlockSchema),
  createdAt: z.string(),
  kind: z.enum(['summary', 'synthetic']).optional(),
  metadata: jsonObjectSchema.optional(),
});
