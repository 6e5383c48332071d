/**
 * A message of the AI SDK: what a user keeps (`ModelMessage`) and what a model is sent, of version 5 and later. Described
 * as far as it is read here; every field is carried.
 */
export interface SdkMessage {
  readonly role: 'system' | 'user' | 'assistant' | 'tool';
  readonly content: string | readonly SdkPart[];
  readonly providerOptions?: object | undefined;
}

/** A part of a message, of whatever type. */
export interface SdkPart {
  readonly type: string;
}
