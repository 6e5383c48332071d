import type { Message } from '@x/core';
import { type ContentBlock, type ModelResponse, type ToolUseBlock, toolResultMessage } from '@x/core';

/**
 * An answer that was given through its tool, as the text that a model with a response format would have written: the
 * conversation is the same either way, and holds no call that a later request has no tool for. Thoughts go with the
 * call that they led to: providers refuse one without the other. Other responses are left as they are.
 */
export function answerAsText(response: ModelResponse, toolName: string): ModelResponse {
  const calls = response.content.filter((block) => block.type === 'tool_use');
  const [call] = calls;
  if (call === undefined || calls.length > 1 || call.name !== toolName) return response;
  const content: readonly ContentBlock[] = [{ type: 'text', text: JSON.stringify(call.input) }];
  return {
    ...response,
    content,
    finishReason: response.finishReason === 'tool-calls' ? 'stop' : response.finishReason,
  };
}

/** What the model reads of an answer that it gave together with calls whose results it has not seen. */
export function refuseEarlyAnswer(call: ToolUseBlock): Message {
  return toolResultMessage(
    call,
    'Not taken: this must be the only call of its turn. Read the results of the other calls first, then answer.',
    { isError: true },
  );
}
