import * as z from 'zod';
import { parseWith } from '../../config/parse.js';
import { InvalidInputError } from '../../errors/invalid-input-error.js';
import { namingCollection, SessionStoreError } from '../../errors/session-errors.js';
import { base64, fromBase64 } from '../../lib/base64.js';
import type { JsonObject } from '../../lib/json.js';
import { checkMessages, readMessages } from '../../messages/check-messages.js';
import type { Message } from '../../messages/message.js';
import { recordName } from '../collections.js';
import type { SessionKey, SessionScope } from '../session-key.js';
import type { ListOptions, SessionInfo, SessionStore, StoredSession } from '../session-store.js';
import { wrapStore } from './wrap-store.js';

/** Encodes texts before they are stored, and decodes them. */
export interface SessionCodec {
  /** @param place Identifies the text: its session, and `head` or the message. Encryption binds the text to it. */
  encode(text: string, place: string): string | Promise<string>;
  /** @throws when the text belongs to another place, or cannot be decoded. */
  decode(text: string, place: string): string | Promise<string>;
}

const PROVIDER = 'encoded';
const encodedSchema = z.tuple([
  z.strictObject({ type: z.literal('opaque'), provider: z.literal(PROVIDER), data: z.string() }),
]);

const PLAIN =
  'It is not encoded, so someone else may have written it. Encode older sessions with copyStore from the bare store.';

/**
 * Adds a codec to a store. Heads, titles, metadata and messages are encoded before the store receives them. Keys, ids, roles, times
 * and sizes are stored as they are.
 *
 * Reads reject heads and messages that are not encoded, because anyone who can write to the store could have planted them. To
 * encode existing sessions, copy them from the bare store into another store with {@link copyStore}.
 *
 * @example
 * ```ts
 * const codec = encryption({ keys: { k1: crypto.getRandomValues(new Uint8Array(32)) }, current: 'k1' });
 * const store = encodeSessions(new InMemorySession(), codec);
 * ```
 */
export function encodeSessions(store: SessionStore, codec: SessionCodec): SessionStore {
  return wrapStore(store, (inner, collection) => {
    const at = (key: SessionKey) => recordName({ key, collection });
    const encode = async (key: SessionKey, message: Message): Promise<Message> => {
      const data = await codec.encode(JSON.stringify(message), placeOf(at(key), message));
      const { id, role, createdAt } = message;
      return { id, role, createdAt, content: [{ type: 'opaque', provider: PROVIDER, data }] };
    };
    const decode = async (key: SessionKey, message: Message): Promise<unknown> => {
      const { success, data } = encodedSchema.safeParse(message.content);
      if (!success) throw new Error(PLAIN);
      return codec.decode(data[0].data, placeOf(at(key), message));
    };
    const decodeJson = async (text: unknown, place: string) => {
      if (typeof text !== 'string') throw new Error(PLAIN);
      return JSON.parse(await codec.decode(text, place)) as JsonObject;
    };

    const describe = (info: SessionInfo) =>
      unlessDamaged(info.key, collection, async () => {
        const described: unknown = await decodeJson(info.metadata[PROVIDER], `${at(info.key)} description`);
        return described as Description;
      });
    return {
      list: (scope, options) => listDecoded(inner, describe, scope, options),
      async load(key, options): Promise<StoredSession | undefined> {
        const stored = await inner.load(key, options);
        if (stored === undefined) return undefined;
        return unlessDamaged(key, collection, async () => {
          const head = await decodeJson(stored.head[PROVIDER], `${at(key)} head`);
          const texts = await Promise.all(stored.messages.map((message) => decode(key, message)));
          return { ...stored, head, messages: readMessages(texts, `session ${key}`) };
        });
      },
      async commit(key, change) {
        checkMessages(change.append, 'SessionChange', 'append');
        const { title, metadata } = change.head;
        const head = {
          [PROVIDER]: await codec.encode(JSON.stringify(change.head), `${at(key)} head`),
          metadata: {
            [PROVIDER]: await codec.encode(JSON.stringify({ title, metadata }), `${at(key)} description`),
          },
        };
        const append = await Promise.all(change.append.map((message) => encode(key, message)));
        return inner.commit(key, { ...change, head, append });
      },
    };
  });
}

type Description = Pick<SessionInfo, 'title' | 'metadata'>;

/** Lists sessions with decoded descriptions. Filters by metadata here, because the store sees only encoded metadata. */
async function* listDecoded(
  store: SessionStore,
  describe: (info: SessionInfo) => Promise<Description>,
  scope: SessionScope | undefined,
  options: ListOptions = {},
): AsyncGenerator<SessionInfo, void, undefined> {
  const { metadata: wanted = {}, ...rest } = options;
  const isFiltered = Object.keys(wanted).length > 0;
  let left = options.limit ?? Number.POSITIVE_INFINITY;
  let { after } = options;
  const damages: unknown[] = [];
  let asked: number | undefined;
  let count: number;
  do {
    // Sessions that are filtered out or cannot be decoded do not count toward the limit.
    asked = isFiltered || options.limit === undefined ? undefined : left;
    count = 0;
    for await (const info of store.list(scope, { ...rest, after, limit: asked })) {
      count += 1;
      after = info.cursor;
      let description: Description;
      try {
        description = await describe(info);
      } catch (error) {
        damages.push(error);
        continue;
      }
      const { title, metadata = {} } = description;
      if (Object.entries(wanted).some(([name, value]) => metadata[name] !== value)) continue;
      if (left-- <= 0) return;
      yield { ...info, title, metadata };
    }
  } while (left > 0 && count === asked);
  // Throw after all others, like a store does.
  if (left > 0 && damages.length > 0) throw damages[0];
}

async function unlessDamaged<T>(
  key: SessionKey,
  collection: string | undefined,
  read: () => Promise<T>,
): Promise<T> {
  try {
    return await read();
  } catch (cause) {
    const damage = new SessionStoreError(
      'session_corrupt',
      `Session ${key} cannot be decoded: ${(cause as Error).message} Nothing was changed.`,
      { sessionKey: key.toString(), cause },
    );
    throw collection === undefined ? damage : namingCollection(damage, collection);
  }
}

const keysSchema = z.strictObject({
  keys: z.record(
    z.string().regex(/^[\w-]+$/),
    z.instanceof(Uint8Array).refine(({ length }) => length === 32, 'must be 32 bytes'),
  ),
  current: z.string(),
});
const IV_BYTES = 12;
const AES = 'AES-GCM';

/**
 * Encrypts with AES-256-GCM. To rotate keys, add a key and make it `current`: new texts use it, and the older keys still decrypt
 * old texts. A text that was moved to another session or message is rejected.
 *
 * @throws {InvalidInputError} if a key does not have 32 bytes, or `current` does not name one of the keys.
 */
export function encryption(options: {
  readonly keys: Readonly<Record<string, Uint8Array>>;
  readonly current: string;
}): SessionCodec {
  const { keys, current } = parseWith(keysSchema, options, 'encryption options');
  const imported = new Map(
    Object.entries(keys).map(([name, bytes]) => {
      return [name, crypto.subtle.importKey('raw', bytes.slice(), AES, false, ['encrypt', 'decrypt'])];
    }),
  );
  const newest = imported.get(current);
  if (newest === undefined) {
    throw new InvalidInputError('encryption options', [
      { path: 'current', message: 'must name one of the keys' },
    ]);
  }
  const parameters = (iv: Uint8Array<ArrayBuffer>, place: string) => ({
    name: AES,
    iv,
    additionalData: new TextEncoder().encode(place),
  });
  return {
    async encode(text, place) {
      const iv = crypto.getRandomValues(new Uint8Array(IV_BYTES));
      const sealed = await crypto.subtle.encrypt(
        parameters(iv, place),
        await newest,
        new TextEncoder().encode(text),
      );
      // Twelve bytes encode to base64 without padding, so the IV and the ciphertext can be concatenated.
      return `${current}.${base64(iv)}${base64(new Uint8Array(sealed))}`;
    },
    async decode(text, place) {
      const end = text.indexOf('.');
      const name = text.slice(0, Math.max(0, end));
      const key = await imported.get(name);
      if (key === undefined) throw new Error(`Its key "${name}" is not among the keys; add it.`);
      const sealed = fromBase64(text.slice(end + 1));
      const iv = sealed.subarray(0, IV_BYTES);
      const plain = await crypto.subtle.decrypt(parameters(iv, place), key, sealed.subarray(IV_BYTES));
      return new TextDecoder('utf-8', { ignoreBOM: true }).decode(plain);
    },
  };
}

/** Returns the place of a message, which never equals that of a head or a description, whatever the message's id. */
function placeOf(record: string, { id }: Message): string {
  return /^(?:message )*(?:head|description)$/.test(id) ? `${record} message ${id}` : `${record} ${id}`;
}
