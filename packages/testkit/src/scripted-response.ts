import {
  type ContentBlock,
  type ModelRequest,
  type ModelResponse,
  type TokenCounter,
  toolUsesOf,
  type Usage,
} from '@x/core';
import { countBlock, countRequest } from '@x/core/messages';
import type { ScriptedAnswer } from './script.js';

/** Returns the response for a scripted answer. `nextNumber` counts the tool call ids of the model. */
export function scriptedResponse(
  answer: ScriptedAnswer,
  request: ModelRequest,
  counter: TokenCounter,
  nextNumber: () => number,
): ModelResponse {
  const content = contentOf(answer, idsFor(request, answer, nextNumber));
  const calls = content.some((block) => block.type === 'tool_use');
  const usage = answer.usage ?? estimate(content, request, counter);
  return {
    content,
    finishReason: answer.finishReason ?? (calls ? 'tool-calls' : 'stop'),
    ...(usage === 'none' ? {} : { usage }),
    ...(answer.providerMetadata === undefined ? {} : { providerMetadata: answer.providerMetadata }),
  };
}

function contentOf(answer: ScriptedAnswer, nextId: () => string): readonly ContentBlock[] {
  const { thinking, chunks, content = [], toolCalls = [] } = answer;
  const text = chunks?.join('') ?? answer.text;
  return [
    ...(thinking === undefined ? [] : [{ type: 'thinking' as const, thinking }]),
    ...(text === undefined ? [] : [{ type: 'text' as const, text }]),
    ...content,
    ...toolCalls.map(({ id, name, input }) => ({
      type: 'tool_use' as const,
      id: id ?? nextId(),
      name,
      input,
    })),
  ];
}

/**
 * Returns a function that creates tool call ids that are new to this model and to the conversation, which may contain ids of another
 * scripted model. Providers never reuse an id, and code that stores calls by id relies on unique ids.
 */
function idsFor(request: ModelRequest, answer: ScriptedAnswer, nextNumber: () => number): () => string {
  let taken: Set<string> | undefined;
  return () => {
    taken ??= new Set([
      ...request.messages.flatMap(toolUsesOf).map((use) => use.id),
      ...(answer.content ?? []).flatMap((block) => (block.type === 'tool_use' ? [block.id] : [])),
      ...(answer.toolCalls ?? []).flatMap((call) => call.id ?? []),
    ]);
    let id: string;
    do id = `call_${nextNumber()}`;
    while (taken.has(id));
    return id;
  };
}

function estimate(content: readonly ContentBlock[], request: ModelRequest, counter: TokenCounter): Usage {
  let outputTokens = 0;
  for (const block of content) outputTokens += countBlock(counter, block);
  return { inputTokens: countRequest(counter, request), outputTokens };
}
