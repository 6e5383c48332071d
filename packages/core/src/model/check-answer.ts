import { ModelError } from '../errors/model-error.js';
import { isObject } from '../lib/json.js';
import { FINISH_REASONS, type Model } from './model.js';

/**
 * Rejects a return value of a model's `generate` that is not a valid answer. A retry would not help, because the fault is in the model's
 * code.
 *
 * @throws {ModelError} not retryable, with a message that describes a valid answer.
 */
export function refuseNoAnswer(model: Pick<Model, 'id'>, answer: unknown): void {
  const fault = answerFault(answer);
  if (fault === undefined) return;
  const message =
    `Model ${model.id} returned ${fault}. ` +
    "Its generate must resolve with { content: [{ type: 'text', text }], finishReason: 'stop' }.";
  throw new ModelError(message, { modelId: model.id, retryable: false });
}

/** Describes the fault of an invalid answer. An answer with calls needs a known finish reason, because its last call may be incomplete. */
export function answerFault(answer: unknown): string | undefined {
  const { content, finishReason } = isObject(answer) ? answer : {};
  if (content === undefined) return 'no content';
  if (!Array.isArray(content)) return 'content that is not a list of blocks';
  if (FINISH_REASONS.some((reason) => reason === finishReason)) return undefined;
  // An unknown finish reason does no harm to an answer without calls.
  if (typeof finishReason === 'string' && !content.some((block) => block?.type === 'tool_use'))
    return undefined;
  const given = typeof finishReason === 'string' ? `the finishReason "${finishReason}"` : 'no finishReason';
  return `${given}, which must be one of ${FINISH_REASONS.join(', ')}`;
}
