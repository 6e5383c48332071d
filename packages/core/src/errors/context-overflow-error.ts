import type { ContextUsage } from '../agent/agent-event.js';
import { hasBrand, XError } from './x-error.js';

/**
 * A request did not fit the model's context window. Adapters throw it when they recognize the provider's own error
 * (kept as `cause`), or when the reported input exceeds the window.
 */
export class ContextOverflowError extends XError {
  readonly modelId: string | undefined;
  /** Tokens of the request, where known. */
  readonly inputTokens: number | undefined;
  /** The model's window in tokens, where known. */
  readonly contextWindow: number | undefined;
  /** Estimated parts of the request; left out when the thrower does not know them. */
  readonly usage: ContextUsage | undefined;

  constructor(
    message = 'The request does not fit the model’s context window. Compact the conversation or use a larger window.',
    details: {
      cause?: unknown;
      modelId?: string;
      inputTokens?: number | undefined;
      contextWindow?: number | undefined;
      usage?: ContextUsage;
    } = {},
  ) {
    super('context_overflow', message, { cause: details.cause, brands: ['ContextOverflowError'] });
    this.modelId = details.modelId;
    this.inputTokens = details.inputTokens;
    this.contextWindow = details.contextWindow;
    this.usage = details.usage;
  }

  static override isInstance(error: unknown): error is ContextOverflowError {
    return hasBrand(error, 'ContextOverflowError');
  }
}
