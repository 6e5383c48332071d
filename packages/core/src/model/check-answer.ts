import { ModelError } from '../errors/model-error.js';
import { isObject } from '../lib/json.js';
import { FINISH_REASONS, type Model } from './model.js';

/**
 * Refuses what a model's `generate` gave that is no answer. A model that a program brings may answer anything; asked again it would
 * answer the same.
 *
 * @throws {ModelError} that is not retryable, and says what an answer is.
 */
export function refuseNoAnswer(model: Pick<Model, 'id'>, answer: unknown): void {
  const fault = answerFault(answer);
  if (fault === undefined) return;
  const message =
    `Model ${model.id} gave ${fault}. ` +
    "Its generate must resolve with { content: [{ type: 'text', text }], finishReason: 'stop' }.";
  throw new ModelError(message, { modelId: model.id, retryable: false });
}

/** Tells what is wrong with what should be an answer: in one with calls of which nobody knows how it ended, half a call may stand. */
export function answerFault(answer: unknown): string | undefined {
  const { content, finishReason } = isObject(answer) ? answer : {};
  if (content === undefined) return 'no content';
  if (!Array.isArray(content)) return 'content that is not a list of blocks';
  if (FINISH_REASONS.some((reason) => reason === finishReason)) return undefined;
  // A word that nobody knows is no harm to a text.
  if (typeof finishReason === 'string' && !content.some((block) => block?.type === 'tool_use'))
    return undefined;
  const given = typeof finishReason === 'string' ? `the finishReason "${finishReason}"` : 'no finishReason';
  return `${given}, but not ${FINISH_REASONS.join(', ')}`;
}
