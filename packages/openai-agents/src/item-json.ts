import type { JsonValue } from '@x/core';

/** Marks what JSON has no form for. An item's own object with this key is wrapped, so that none is mistaken. */
const MARK = '$openai-agents';

/**
 * A value as JSON from which {@link fromJson} makes it again: bytes are marked as such, what is `undefined` is left out.
 *
 * @throws {TypeError} for what neither JSON nor an item of the SDK can hold: functions, symbols, bigints and circles.
 */
export function toJson(value: unknown, above: readonly object[] = []): JsonValue {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  if (value instanceof Uint8Array) return { [MARK]: 'bytes', data: Buffer.from(value).toString('base64') };
  if (typeof value !== 'object')
    throw new TypeError(`An item cannot hold a ${typeof value}: ${String(value)}`);
  if (above.includes(value)) throw new TypeError('An item cannot hold itself.');
  const path = [...above, value];
  if (Array.isArray(value)) return value.map((child) => toJson(child, path));
  const entries = Object.entries(value).filter(([, child]) => child !== undefined);
  const object = Object.fromEntries(entries.map(([key, child]) => [key, toJson(child, path)]));
  return MARK in object ? { [MARK]: 'object', data: object } : object;
}

/** The inverse of {@link toJson}. */
export function fromJson(value: JsonValue): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(fromJson);
  const { [MARK]: mark, data } = value as { readonly [key: string]: JsonValue };
  if (mark === 'bytes' && typeof data === 'string') return new Uint8Array(Buffer.from(data, 'base64'));
  const object = mark === 'object' && data !== undefined ? data : value;
  return Object.fromEntries(Object.entries(object as object).map(([key, child]) => [key, fromJson(child)]));
}
