import {
  type ContentBlock,
  countBlock,
  countRequest,
  type ModelRequest,
  type ModelResponse,
  type TokenCounter,
  toolUsesOf,
  type Usage,
} from '@x/core';
import type { ScriptedAnswer } from './script.js';

/** The response that a scripted answer stands for. */
export function scriptedResponse(
  answer: ScriptedAnswer,
  request: ModelRequest,
  counter: TokenCounter,
): ModelResponse {
  const content = contentOf(answer, request);
  const calls = content.some((block) => block.type === 'tool_use');
  const usage = answer.usage ?? estimate(content, request, counter);
  return {
    content,
    finishReason: answer.finishReason ?? (calls ? 'tool-calls' : 'stop'),
    ...(usage === 'none' ? {} : { usage }),
    ...(answer.providerMetadata === undefined ? {} : { providerMetadata: answer.providerMetadata }),
  };
}

function contentOf(answer: ScriptedAnswer, request: ModelRequest): readonly ContentBlock[] {
  const { thinking, chunks, content = [], toolCalls = [] } = answer;
  const text = chunks?.join('') ?? answer.text;
  const nextId = idsFor(request, answer);
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

/** Ids that neither the conversation nor the answer holds, also where another scripted model wrote the conversation. */
function idsFor(request: ModelRequest, answer: ScriptedAnswer): () => string {
  let taken: Set<string> | undefined;
  let last = 0;
  return () => {
    taken ??= new Set([
      ...request.messages.flatMap(toolUsesOf).map((use) => use.id),
      ...(answer.content ?? []).flatMap((block) => (block.type === 'tool_use' ? [block.id] : [])),
      ...(answer.toolCalls ?? []).flatMap((call) => call.id ?? []),
    ]);
    do last++;
    while (taken.has(`call_${last}`));
    return `call_${last}`;
  };
}

function estimate(content: readonly ContentBlock[], request: ModelRequest, counter: TokenCounter): Usage {
  let outputTokens = 0;
  for (const block of content) outputTokens += countBlock(counter, block);
  return { inputTokens: countRequest(counter, request), outputTokens };
}
