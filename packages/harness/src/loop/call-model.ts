import { randomUUID } from 'node:crypto';
import {
  type ContentBlock,
  type Model,
  ModelError,
  type ModelRequest,
  type ModelResponse,
  type ModelStreamPart,
  TimeLimitError,
  type Usage,
  withRetries,
} from '@x/core';
import { Deadline, errorText, refuseNoAnswer, soundUsage, stepwise } from '@x/core/internal';
import { admitMessages } from '@x/core/messages';
import { errorOf } from '../errors/harness-error.js';
import { Interruption } from '../errors/interruption.js';
import { AnswerSize, cutAnswer } from './answer-size.js';
import type { RunningCall } from './running-call.js';

/**
 * Calls the model. Retries after a transient failure (`ModelError.retryable`), with exponential backoff and jitter, or after the delay that
 * the provider requested.
 */
export async function callModel(
  request: ModelRequest,
  call: RunningCall,
  streaming: boolean,
): Promise<ModelResponse> {
  const { model, signal } = call.scope;
  const { maxRetries, retryDelayMs, limits } = call.settings;
  return withRetries(
    async () => {
      call.pauses = false;
      const answer = await withinLimits(request, call, streaming);
      refuseNoAnswer(model, answer);
      const content = admitted(call, answer);
      const response = { ...answer, content, usage: usageOf(answer) };
      const whole = cutAnswer(response, limits.answerBytes);
      if (whole !== response) warnOfCut(call);
      return whole;
    },
    {
      maxRetries,
      retryDelayMs,
      retryAfterMs: limits.retryAfterMs || Number.POSITIVE_INFINITY,
      signal,
      onRetry: (attempt, delayMs, error) => {
        call.draft.discard();
        call.pauses = true;
        if (call.options.isDraining()) call.options.abort.abort(new Interruption('shutdown'));
        call.emit({ type: 'model.retrying', attempt, delayMs, error: error.message });
      },
    },
  );
}

/** Calls the model once, within its limits. A model that ignores its signal is abandoned. A model that stalls can be retried. */
async function withinLimits(
  request: ModelRequest,
  call: RunningCall,
  streaming: boolean,
): Promise<ModelResponse> {
  const { model, signal } = call.scope;
  const { limits } = call.settings;
  const deadline = new Deadline(signal);
  deadline.start(`Model ${model.id}`, 'limits.modelMs', limits.modelMs);
  try {
    const limited = { ...request, signal: deadline.signal };
    if (!streaming || model.stream === undefined) return await deadline.race(model.generate(limited));
    return await streamed(model.stream(limited), call, deadline);
  } catch (cause) {
    if (!TimeLimitError.isInstance(cause) || cause !== deadline.signal.reason) {
      throw errorOf(`Model ${model.id}`, cause);
    }
    throw new ModelError(cause.message, { modelId: model.id, retryable: true, cause });
  } finally {
    deadline.stop();
  }
}

/** Yields the parts of a stream, each within its limit. The reader's own time does not count. */
function paced(
  stream: AsyncIterable<ModelStreamPart>,
  deadline: Deadline,
  { scope: { model }, settings: { limits } }: RunningCall,
): AsyncGenerator<ModelStreamPart> {
  let limit: 'modelFirstByteMs' | 'modelIdleMs' = 'modelFirstByteMs';
  return stepwise(stream, async (next) => {
    deadline.check();
    deadline.start(`Model ${model.id}`, `limits.${limit}`, limits[limit]);
    const part = await deadline.race(next());
    deadline.pause(`limits.${limit}`);
    limit = 'modelIdleMs';
    return part;
  });
}

async function streamed(
  stream: AsyncIterable<ModelStreamPart>,
  call: RunningCall,
  deadline: Deadline,
): Promise<ModelResponse> {
  const { draft } = call;
  const { model } = call.scope;
  const size = new AnswerSize(call.settings.limits.answerBytes);
  for await (const part of paced(stream, deadline, call)) {
    if (part?.type === 'response') return part.response;
    const piece = pieceOf(part, model);
    // Stops reading an answer that is too long and may never end.
    if (size.isReached(piece)) {
      warnOfCut(call);
      return {
        content: draft.text === '' ? [] : [{ type: 'text', text: draft.text }],
        finishReason: 'length',
      };
    }
    if (part.type === 'thinking-delta') draft.add({ type: 'thinking.delta', text: piece });
    else if (part.type === 'text-delta' || part.name === call.answerTool?.name)
      draft.add({ type: 'text.delta', text: piece });
    else {
      const toolUseId = call.answerIds.of(part.id);
      draft.add({ type: 'tool.delta', toolUseId, name: part.name, inputDelta: piece });
    }
    await call.room();
  }
  throw new ModelError(`Model ${model.id} ended its stream without a response.`, {
    modelId: model.id,
    retryable: true,
  });
}

/** @throws {ModelError} if the part is not a valid stream part. */
function pieceOf(part: Exclude<ModelStreamPart, { type: 'response' }>, { id: modelId }: Model): string {
  const piece: unknown = part?.type === 'tool-call-delta' ? part.inputDelta : part?.text;
  if (typeof piece === 'string' && /^(?:text|thinking|tool-call)-delta$/.test(part.type)) return piece;
  const message = `Model ${modelId} streamed a part of the type "${part?.type}". Its stream must yield { type: 'text-delta', text } parts, then { type: 'response', response }.`;
  throw new ModelError(message, { modelId });
}

function warnOfCut(call: RunningCall): void {
  const { id } = call.scope.model;
  const message = `An answer of ${id} was cut off: it exceeds limits.answerBytes (${call.settings.limits.answerBytes}), or has thousands of blanks in a row.`;
  call.emit({ type: 'warning', source: 'limits', message });
}

/** Adds an id to a call without one. Some servers omit ids, which are needed to match results. */
function withId(block: ContentBlock): ContentBlock {
  return block?.type === 'tool_use' && block.id === '' ? { ...block, id: `call_${randomUUID()}` } : block;
}

/** Returns the reported usage. Zeros mean that the server does not count, because every request has tokens. */
function usageOf({ usage }: ModelResponse): Usage | undefined {
  const sound = soundUsage(usage);
  return sound?.inputTokens === 0 && sound.outputTokens === 0 ? undefined : sound;
}

/** Validates an answer before it reaches the conversation. An invalid answer is retried; its tokens count nevertheless. */
function admitted(call: RunningCall, answer: ModelResponse): readonly ContentBlock[] {
  const { id: modelId } = call.scope.model;
  const unusable = (fault: string, cause?: unknown) => {
    call.reportUnused(usageOf(answer));
    return new ModelError(`Model ${modelId} ${fault}`, { modelId, retryable: true, cause });
  };
  if (answer.finishReason === 'error') throw unusable('ended its answer with an error.');
  try {
    const content = answer.content.map(withId);
    const [message] = admitMessages([{ id: 'answer', role: 'assistant', content, createdAt: '' }], 'answer');
    return message?.content ?? [];
  } catch (cause) {
    throw unusable(`returned an invalid answer: ${errorText(cause)}`, cause);
  }
}
