import type { Message, ModelRequest, NativeCompaction, OpaqueBlock } from '@x/core';
import type { AiSdkLanguageModel, CallOptions } from '../language-model.js';
import type { PromptPart } from '../prompt/prompt.js';

/** A provider's own compaction, for the option `compact` of `fromAiSdk`. */
export interface ProviderCompaction {
  /** For messages to the user: `openaiCompaction`. */
  readonly name: string;
  /** Whether models of this provider have it. */
  supports(model: AiSdkLanguageModel): boolean;
  /**
   * Has the provider condense the conversation.
   *
   * @param call The request as the model would be sent it.
   */
  compact(model: AiSdkLanguageModel, call: CallOptions, request: ModelRequest): Promise<NativeCompaction>;
  /** What stands in a prompt for a block that `compact` made; `undefined` for all other blocks. */
  partOf?(block: OpaqueBlock): PromptPart | undefined;
  /** The call with what it takes to have the provider read what `compact` made. */
  prepareCall?(call: CallOptions, messages: readonly Message[]): CallOptions;
}
