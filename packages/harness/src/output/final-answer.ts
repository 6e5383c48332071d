import type { ContentBlock, Message, ModelResponse, ToolUseBlock } from '@x/core';
import { errorResult } from '../loop/open-calls.js';
import type { RunningCall } from '../loop/running-call.js';

/** Tests if the answer matches the requested schema. If it does not, adds a message that tells the model why. */
export async function settleAnswer(call: RunningCall, message: Message | undefined): Promise<boolean> {
  const { output } = call.options;
  if (output === undefined) return true;
  const byTool = call.answerTool !== undefined;
  const refusal = await call.waitFor('output', () => output.refusalOf(message, byTool));
  if (refusal === undefined) return true;
  const { attempt, error, complaint } = refusal;
  call.emit({ type: 'output.rejected', attempt, error });
  call.add([complaint]);
  return false;
}

/** Rejects an answer that came together with other calls, whose results the model has not seen. */
export function refuseEarlyAnswer(call: RunningCall, uses: readonly ToolUseBlock[]): void {
  const name = call.answerTool?.name;
  const text =
    'Not accepted: this must be the only call of its turn. Read the results of the other calls first, then answer.';
  const early = uses.filter((use) => use.name === name);
  call.add(early.map((use) => errorResult(use, text)));
}

/**
 * Converts an answer that was given as a tool call to the text that a model with a response format would have written.
 * The conversation is then the same in both cases, and has no call of a tool that later requests lack. Also removes the
 * reasoning that led to the call, because providers reject one without the other. Returns other responses unchanged, and
 * a call that was cut off, because parts of its input may be missing.
 */
export function answerAsText(response: ModelResponse, toolName: string): ModelResponse {
  const calls = response.content.filter((block) => block.type === 'tool_use');
  const [call] = calls;
  const isCut = response.finishReason === 'length';
  if (call === undefined || calls.length > 1 || call.name !== toolName || isCut) return response;
  const content: readonly ContentBlock[] = [{ type: 'text', text: JSON.stringify(call.input) }];
  return {
    ...response,
    content,
    finishReason: response.finishReason === 'tool-calls' ? 'stop' : response.finishReason,
  };
}
