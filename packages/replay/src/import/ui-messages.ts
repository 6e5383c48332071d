import type { ContentBlock } from '@x/core';
import { plainJson, readPart, toolResultBlock } from '@x/core/messages';
import * as z from 'zod';
import { importerOf } from './importer.js';
import { readOutputs } from './parts.js';

const uiTool = z.looseObject({
  type: z.string().regex(/^(tool-.+|dynamic-tool)$/),
  toolCallId: z.string(),
  toolName: z.string().optional(),
  state: z.string().optional(),
  input: z.unknown().optional(),
  output: z.unknown().optional(),
  errorText: z.string().optional(),
});

const uiMessage = z.looseObject({
  role: z.enum(['system', 'user', 'assistant']),
  parts: z.array(z.looseObject({ type: z.string() })),
});

/** `UIMessage`s of the AI SDK, as in `useChat`. Each `step-start` begins another model call. */
export const aiSdkUiMessages = importerOf({
  format: 'ai-sdk-ui-messages',
  describes: 'UIMessage arrays of the AI SDK (JSON)',
  entry: uiMessage,
  readEntry({ role, parts }, builder, index) {
    const steps: ContentBlock[][] = [[]];
    for (const part of parts) {
      if (part.type === 'step-start') steps.push([]);
      else steps.at(-1)?.push(...readUiPart(part));
    }
    for (const [step, blocks] of steps.entries())
      builder.message(role, blocks, { answer: `answer-${index}-${step}` });
  },
});

function readUiPart(value: unknown): readonly ContentBlock[] {
  const part = uiTool.safeParse(value).data;
  // Parts that are only displayed, such as data parts and sources, are skipped, because the model never received them.
  if (part === undefined) return [readPart(value) ?? []].flat();
  const { toolCallId: id, toolName: name = part.type.slice('tool-'.length), errorText } = part;
  const call: ContentBlock = { type: 'tool_use', id, name, input: plainJson(part.input ?? {}) };
  if (errorText !== undefined) return [call, toolResultBlock(call, errorText, true)];
  return part.state === 'output-available' ? [call, toolResultBlock(call, readOutputs(part.output))] : [call];
}
