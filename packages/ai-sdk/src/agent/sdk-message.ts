import type { JsonObject } from '@x/core';
import { toJson } from '../to-json.js';

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

/** A part, open to be read. */
export type OpenPart = { readonly type: string; readonly [key: string]: unknown };

/** `{ providerMetadata }` for a block, from the options of its part; nothing where there are none. */
export function metadataIn({ providerOptions }: OpenPart): { readonly providerMetadata?: JsonObject } {
  if (typeof providerOptions !== 'object' || providerOptions === null) return {};
  return { providerMetadata: toJson(providerOptions) as JsonObject };
}
