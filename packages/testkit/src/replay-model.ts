import type { Message } from '@x/core';
import { ScriptedModel, type ScriptedModelOptions } from './scripted-model.js';

/**
 * Answers with the assistant messages of a recorded conversation, in their order and with their tool call ids. The
 * other messages are skipped: they come again from the harness and its tools.
 */
export class ReplayModel extends ScriptedModel {
  /** `options.id` is `replay` by default. */
  constructor(messages: readonly Message[], options: ScriptedModelOptions = {}) {
    const answers = messages.filter((message) => message.role === 'assistant');
    super(
      answers.map(({ content }) => ({ content })),
      { ...options, id: options.id ?? 'replay' },
    );
  }
}
