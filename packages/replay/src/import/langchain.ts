import type { ContentBlock } from '@x/core';
import { plainJson, toolResultBlock } from '@x/core/messages';
import * as z from 'zod';
import { importerOf } from './importer.js';
import { readOutputs, readParts } from './parts.js';

const ROLES = {
  ...{ human: 'user', ai: 'assistant', tool: 'tool', system: 'system', developer: 'system' },
  ...{ HumanMessage: 'user', AIMessage: 'assistant', ToolMessage: 'tool', SystemMessage: 'system' },
  ...{ HumanMessageChunk: 'user', AIMessageChunk: 'assistant', ToolMessageChunk: 'tool' },
} as const;

const fields = z.looseObject({
  id: z.string().nullish(),
  content: z.union([z.string(), z.array(z.unknown())]),
  tool_calls: z
    .array(z.looseObject({ id: z.string().nullish(), name: z.string(), args: z.unknown().optional() }))
    .nullish()
    .catch(undefined),
  tool_call_id: z.string().optional(),
  name: z.string().nullish(),
  status: z.string().optional(),
});

/** A message is a flat object, an object in `data`, or a serialized constructor call. */
const entrySchema = z
  .union([
    z
      .looseObject({ type: z.literal('constructor'), id: z.array(z.string()), kwargs: fields })
      .transform(({ id, kwargs }) => ({ name: id.at(-1), said: kwargs })),
    z
      .looseObject({ type: z.string(), data: fields })
      .transform(({ type, data }) => ({ name: type, said: data })),
    fields.extend({ type: z.string() }).transform((said) => ({ name: said.type, said })),
  ])
  .refine(({ name }) => Object.hasOwn(ROLES, name ?? ''));

/** Messages of LangChain, and states and checkpoints of LangGraph that contain messages. */
export const langchainMessages = importerOf({
  format: 'langchain',
  describes: 'messages of LangChain, states and checkpoints of LangGraph (JSON)',
  entry: entrySchema,
  readEntry({ name, said }, builder, index) {
    const role = ROLES[name as keyof typeof ROLES];
    const { content, tool_call_id: id } = said;
    if (role === 'tool' && id !== undefined) {
      const call = { id, name: said.name ?? '' };
      return builder.message(role, [toolResultBlock(call, readOutputs(content), said.status === 'error')]);
    }
    const calls = (said.tool_calls ?? []).map(
      (call, place): ContentBlock => ({
        type: 'tool_use',
        id: call.id ?? `call-${index}-${place}`,
        name: call.name,
        input: plainJson(call.args ?? {}),
      }),
    );
    // Some providers repeat the calls as parts of the content.
    const parts = readParts(content).filter(({ type }) => type !== 'tool_use');
    builder.message(role, [...parts, ...calls], { answer: `answer-${index}` });
  },
});
