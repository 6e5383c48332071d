import type { SerializerProtocol } from '@langchain/langgraph-checkpoint';
import { InvalidInputError } from '@x/core';

/** LangGraph's serializer writes this text instead of a value that it cannot write. */
const LOST = '[unable to serialize, circular reference is too complex to analyze]';
/** Marks a bigint, in the form that LangGraph uses for values that JSON cannot represent. */
const BIGINT = { lc: 2, type: 'bigint' } as const;
const MARK = '"type":"bigint"';

/** Wraps a serializer so that it loses nothing: it keeps bigints, and throws for values that cannot be serialized. */
export class SoundSerializer implements SerializerProtocol {
  readonly #inner: SerializerProtocol;

  constructor(inner: SerializerProtocol) {
    this.#inner = inner;
  }

  /**
   * @param path The path of the value in the checkpoint.
   * @throws {InvalidInputError} with the path of the value that cannot be serialized.
   */
  async dumpsTyped(value: unknown, path = ''): Promise<[string, Uint8Array]> {
    const failures: unknown[] = [];
    const written = await this.#written(value, failures);
    if (written !== undefined) return written;
    const message = 'cannot be written: its `toJSON` or a getter throws';
    const issue = { path: await this.#lostIn(value, path), message };
    throw new InvalidInputError('checkpoint', [issue], { cause: failures[0] });
  }

  async loadsTyped(type: string, data: Uint8Array | string): Promise<unknown> {
    const value: unknown = await this.#inner.loadsTyped(type, data);
    const isMarked = type === 'json' && textOf(data).includes(MARK);
    return isMarked ? withBigints(value, new Set()) : value;
  }

  /** Returns `undefined` if the value cannot be serialized. */
  async #written(value: unknown, failures: unknown[]): Promise<[string, Uint8Array] | undefined> {
    try {
      // The serializer does its work synchronously, before its promise resolves.
      const [type, data] = await withMarks(() => this.#inner.dumpsTyped(value));
      const isLost = type === 'json' && value !== LOST && textOf(data) === JSON.stringify(LOST);
      return isLost ? undefined : [type, data as Uint8Array];
    } catch (error) {
      failures.push(error);
      return undefined;
    }
  }

  /** Finds the path of the innermost value that cannot be serialized. */
  async #lostIn(value: unknown, path: string): Promise<string> {
    // Messages contain their fields a second time, under `lc_kwargs`.
    const isSecond = (key: string) => Number(key.startsWith('lc_'));
    const keys = Object.keys(Object(value)).sort((left, right) => isSecond(left) - isSecond(right));
    for (const key of keys) {
      const at = Array.isArray(value) ? `${path}[${key}]` : `${path}.${key}`;
      try {
        const child = (value as Record<string, unknown>)[key];
        if ((await this.#written(child, [])) === undefined) return this.#lostIn(child, at);
      } catch {
        return at;
      }
    }
    return path;
  }
}

function textOf(data: Uint8Array | string): string {
  return typeof data === 'string' ? data : new TextDecoder().decode(data);
}

/** Runs a function while `JSON.stringify` marks bigints. Values are not changed or copied: they may be frozen, and copies lose their class. */
function withMarks<Result>(write: () => Result): Result {
  const { prototype } = BigInt;
  const before = Object.getOwnPropertyDescriptor(prototype, 'toJSON');
  const value = function (this: bigint) {
    return { ...BIGINT, value: String(this) };
  };
  Object.defineProperty(prototype, 'toJSON', { value, configurable: true });
  try {
    return write();
  } finally {
    if (before === undefined) Reflect.deleteProperty(prototype, 'toJSON');
    else Object.defineProperty(prototype, 'toJSON', before);
  }
}

/** Replaces marks by bigints, also within messages. */
function withBigints(value: unknown, seen: Set<unknown>): unknown {
  if (typeof value !== 'object' || value === null || seen.has(value)) return value;
  const { lc, type, value: text } = value as Record<string, unknown>;
  if (lc === BIGINT.lc && type === BIGINT.type && /^-?\d+$/.test(String(text))) return BigInt(String(text));
  seen.add(value);
  const revived = (child: unknown) => withBigints(child, seen);
  if (value instanceof Map || value instanceof Set) {
    const members = [...value].map(revived);
    value.clear();
    for (const member of members) {
      if (value instanceof Set) value.add(member);
      else value.set(...(member as [unknown, unknown]));
    }
  }
  for (const [key, child] of Object.entries(value)) {
    const now = revived(child);
    if (now !== child) Reflect.set(value, key, now);
  }
  return value;
}
