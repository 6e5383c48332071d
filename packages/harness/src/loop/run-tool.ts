import {
  InvalidInputError,
  type ToolResultBlock,
  type ToolScope,
  type ToolUseBlock,
  toolResultBlock,
} from '@x/core';

/**
 * Runs one tool and turns whatever happens into a result that the model can act on: unknown tools, invalid input,
 * time-outs and thrown errors become error results. Rejects only when the call as a whole is interrupted.
 */
export async function runTool(
  call: ToolUseBlock,
  scope: ToolScope,
  options: { readonly defaultTimeoutMs: number; readonly toolNames: readonly string[] },
): Promise<ToolResultBlock> {
  const { tool } = scope;
  if (tool === undefined) {
    const known = options.toolNames.join(', ') || 'none';
    return toolResultBlock(call, `There is no tool named "${call.name}". Available: ${known}.`, true);
  }
  const timeoutMs = tool.timeoutMs ?? options.defaultTimeoutMs;
  const timeout = new AbortController();
  const timer =
    timeoutMs > 0
      ? setTimeout(() => timeout.abort(new Error(`${call.name} timed out after ${timeoutMs} ms.`)), timeoutMs)
      : undefined;
  const signal = AbortSignal.any([scope.signal, timeout.signal]);
  const { runtime, state, workspace, log } = scope;
  try {
    const run = tool.run(call.input, { call, runtime, state, workspace, log, signal });
    const output = await Promise.race([run, rejection(signal)]);
    return toolResultBlock(call, output);
  } catch (error) {
    scope.signal.throwIfAborted();
    return toolResultBlock(call, describe(error), true);
  } finally {
    clearTimeout(timer);
  }
}

// A tool that ignores its signal must not hold up the call.
function rejection(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}

function describe(error: unknown): string {
  if (InvalidInputError.isInstance(error)) {
    return `${error.message} Correct the input and call the tool again.`;
  }
  return error instanceof Error ? error.message : String(error);
}
