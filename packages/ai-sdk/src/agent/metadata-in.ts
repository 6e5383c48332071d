import type { JsonObject } from '@x/core';
import { toJson } from '../to-json.js';
import type { OpenPart } from './sdk-message.js';

/** `{ providerMetadata }` for a block, from the options of its part; nothing where there are none. */
export function metadataIn({ providerOptions }: OpenPart): { readonly providerMetadata?: JsonObject } {
  if (typeof providerOptions !== 'object' || providerOptions === null) return {};
  return { providerMetadata: toJson(providerOptions) as JsonObject };
}
