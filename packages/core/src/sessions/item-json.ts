import { InvalidInputError } from '../errors/invalid-input-error.js';
import { base64, fromBase64 } from '../lib/base64.js';
import type { JsonValue } from '../lib/json.js';

/**
 * Converts an item of another framework to JSON, from which {@link itemFrom} restores it. Bytes are marked; `undefined` properties
 * are omitted.
 *
 * @param mark The key that marks bytes, which JSON cannot represent: `$` and the framework's name. An item's own object with this
 * key is wrapped, so that it is not mistaken for bytes.
 * @param path Names the item in errors.
 * @throws {InvalidInputError} with the path of a value that JSON cannot represent: a class instance (Date, URL, Map), an array with
 * holes, a function, symbol, bigint, NaN, or a cycle. The error never quotes the value.
 */
export function itemJson(
  value: unknown,
  mark: string,
  path = 'item',
  above: readonly object[] = [],
): JsonValue {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  if (typeof value !== 'object')
    throw refusal(path, typeof value === 'number' ? 'a number that is not finite' : `a ${typeof value}`);
  if (above.includes(value)) throw refusal(path, 'itself');
  const inside = [...above, value];
  if (Object.getOwnPropertySymbols(value).length > 0) throw refusal(path, 'a property named by a symbol');
  if (Array.isArray(value)) {
    if (Object.keys(value).length !== value.length)
      throw refusal(path, 'an array with holes or additional properties');
    return value.map((child, at) => itemJson(child, mark, `${path}[${at}]`, inside));
  }
  // Node's buffers are bytes, too; typed arrays with wider elements are not.
  if (value instanceof Uint8Array) return { [mark]: 'bytes', data: base64(value) };
  const prototype: unknown = Object.getPrototypeOf(value);
  // Plain objects of another realm count as plain, too.
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null)
    throw refusal(path, 'an object of a class');
  const entries = Object.entries(Object.getOwnPropertyDescriptors(value)).map(([key, property]) => {
    if (!property.enumerable || !('value' in property))
      throw refusal(`${path}.${key}`, 'a property that is not plain');
    return [key, property.value as unknown] as const;
  });
  const object = Object.fromEntries(
    entries
      .filter(([, child]) => child !== undefined)
      .map(([key, child]) => [key, itemJson(child, mark, `${path}.${key}`, inside)]),
  );
  return Object.hasOwn(object, mark) ? { [mark]: 'object', data: object } : object;
}

/** Restores the item that {@link itemJson} converted with the same mark. */
export function itemFrom(value: JsonValue, mark: string): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((child) => itemFrom(child, mark));
  const { [mark]: kind, data } = value as { readonly [key: string]: JsonValue };
  if (kind === 'bytes' && typeof data === 'string') return fromBase64(data);
  const object = kind === 'object' && data !== undefined ? data : value;
  return Object.fromEntries(
    Object.entries(object as object).map(([key, child]) => [key, itemFrom(child, mark)]),
  );
}

function refusal(path: string, what: string): InvalidInputError {
  const message = `cannot contain ${what}; use plain objects, arrays and bytes`;
  return new InvalidInputError('session item', [{ path, message }], { remedy: 'Nothing was stored.' });
}
