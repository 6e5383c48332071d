import type { Message } from '@x/core';
import { ScriptedModel, type ScriptedModelOptions } from './scripted-model.js';

/**
 * A model that repeats the answers of a recorded conversation, in order and with their tool call ids. Other messages of the recording are
 * ignored, because the agent and its tools create them again.
 *
 * @example
 * ```ts
 * const model = new ReplayModel(state.context);
 * ```
 */
export class ReplayModel extends ScriptedModel {
  /** `options.id` defaults to `replay`. */
  constructor(messages: readonly Message[], options: ScriptedModelOptions = {}) {
    const answers = messages.filter((message) => message.role === 'assistant');
    super(
      answers.map(({ content }) => ({ content })),
      { ...options, id: options.id ?? 'replay' },
    );
  }
}
