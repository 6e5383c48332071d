import type { JsonObject, JsonValue } from '@x/core';
import type { ProviderData } from './language-model.js';

/** A value as JSON can hold it: bytes become base64, URLs and dates text; what is undefined is left out. */
export function toJson(value: unknown): JsonValue {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  if (value instanceof URL) return value.href;
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return value.map(toJson);
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).filter(([, child]) => child !== undefined);
    return Object.fromEntries(entries.map(([key, child]) => [key, toJson(child)]));
  }
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  return typeof value === 'string' || typeof value === 'boolean' ? value : null;
}

/** `{ providerMetadata }` as a block carries it, or nothing where the provider attached none. */
export function metadataOf(part: { readonly providerMetadata?: ProviderData | undefined }): {
  readonly providerMetadata?: JsonObject;
} {
  return part.providerMetadata == null
    ? {}
    : { providerMetadata: toJson(part.providerMetadata) as JsonObject };
}
