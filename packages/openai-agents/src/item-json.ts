import { InvalidInputError, type JsonValue } from '@x/core';

/** Marks bytes, for which JSON has no form. An item's own object with this key is wrapped, so that none is mistaken. */
const MARK = '$openai-agents';

/**
 * Writes a value as JSON from which {@link fromJson} makes it again: bytes are marked, `undefined` properties left out.
 *
 * @throws {InvalidInputError} naming the path of a value that neither JSON nor an item of the SDK can hold: an object of
 * a class (Date, URL, Map), an array with holes, a function, symbol, bigint, NaN, or a circle. It never quotes the value.
 */
export function toJson(value: unknown, path = 'item', above: readonly object[] = []): JsonValue {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  if (typeof value !== 'object')
    throw refusal(path, typeof value === 'number' ? 'a number that is none' : `a ${typeof value}`);
  if (above.includes(value)) throw refusal(path, 'itself');
  const inside = [...above, value];
  if (Object.getOwnPropertySymbols(value).length > 0) throw refusal(path, 'a property named by a symbol');
  if (Array.isArray(value)) {
    if (Object.keys(value).length !== value.length)
      throw refusal(path, 'an array with holes or properties of its own');
    return value.map((child, at) => toJson(child, `${path}[${at}]`, inside));
  }
  if (isBytes(value)) return { [MARK]: 'bytes', data: Buffer.from(value).toString('base64') };
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
      .map(([key, child]) => [key, toJson(child, `${path}.${key}`, inside)]),
  );
  return Object.hasOwn(object, MARK) ? { [MARK]: 'object', data: object } : object;
}

/** Makes the value again that {@link toJson} wrote. */
export function fromJson(value: JsonValue): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(fromJson);
  const { [MARK]: mark, data } = value as { readonly [key: string]: JsonValue };
  if (mark === 'bytes' && typeof data === 'string') return new Uint8Array(Buffer.from(data, 'base64'));
  const object = mark === 'object' && data !== undefined ? data : value;
  return Object.fromEntries(Object.entries(object as object).map(([key, child]) => [key, fromJson(child)]));
}

/** Node's buffers are bytes, too; wider typed arrays are not. */
function isBytes(value: object): value is Uint8Array {
  return value instanceof Uint8Array;
}

function refusal(path: string, what: string): InvalidInputError {
  const message = `cannot hold ${what}; give plain objects, arrays and bytes`;
  return new InvalidInputError('session item', [{ path, message }], { remedy: 'Nothing was stored.' });
}
