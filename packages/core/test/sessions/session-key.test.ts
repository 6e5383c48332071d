import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { InMemorySession, InvalidInputError, SessionKey, type SessionKeyParts } from '../../src/index.js';
import { anyName, anyString } from '../arbitraries.js';
import { errorOf } from '../error-of.js';

const optionalName = fc.option(anyName, { nil: undefined });
const anyParts: fc.Arbitrary<SessionKeyParts> = fc.record({
  tenantId: optionalName,
  userId: optionalName,
  agentId: optionalName,
  sessionId: anyName,
});
/** Two keys that often share parts, so that a confusion of parts shows. */
const twoParts = fc.oneof(
  fc.tuple(anyParts, anyParts),
  fc.tuple(anyName, anyName, anyName).map(([a, b, c]): [SessionKeyParts, SessionKeyParts] => [
    { userId: a, agentId: b, sessionId: c },
    { tenantId: a, userId: b, sessionId: c },
  ]),
  fc.tuple(anyName, anyName).map(([a, b]): [SessionKeyParts, SessionKeyParts] => [
    { userId: a + b, sessionId: a },
    { userId: a, sessionId: b + a },
  ]),
);
const names = ['tenantId', 'userId', 'agentId', 'sessionId'] as const;
const isSame = (left: SessionKeyParts, right: SessionKeyParts) =>
  names.every((name) => left[name] === right[name]);

describe('SessionKey', () => {
  test('is made of a session id, or of parts', () => {
    expect(SessionKey.of('s-001').parts).toEqual({ sessionId: 's-001' });
    expect(SessionKey.of('s-001').toString()).toBe('///s-001');
    expect(`${SessionKey.of({ tenantId: 'Acme', userId: 'a/b', agentId: 'coder', sessionId: '..' })}`).toBe(
      '%41cme/a%2fb/coder/%2e%2e',
    );
  });

  test('cannot be changed', () => {
    const parts = { userId: 'alice', sessionId: 's' };
    const key = SessionKey.of(parts);
    parts.userId = 'bob';
    expect(key.parts.userId).toBe('alice');
    expect(Object.isFrozen(key.parts)).toBe(true);
  });

  test.each([
    ['', 'sessionId'],
    [{ sessionId: '' }, 'sessionId'],
    [{}, 'sessionId'],
    [{ userId: '', sessionId: 's' }, 'userId'],
    [{ tenantId: null, sessionId: 's' }, 'tenantId'],
    [{ agentId: 7, sessionId: 's' }, 'agentId'],
    [{ user: 'alice', sessionId: 's' }, 'user'],
  ])('refuses %j', (parts, path) => {
    const error = errorOf(() => SessionKey.of(parts as SessionKeyParts));
    expect(InvalidInputError.isInstance(error) && error.issues.map((issue) => issue.path)).toEqual([path]);
  });
});

describe('SessionKey as text', () => {
  test('comes back as it was', () => {
    fc.assert(
      fc.property(anyParts, (parts) => {
        const key = SessionKey.of(parts);
        const again = SessionKey.parse(key.toString());
        expect(isSame(again.parts, parts)).toBe(true);
        expect(again.equals(key)).toBe(true);
        expect(again.toString()).toBe(key.toString());
      }),
    );
  });

  test('differs for different keys, and only for them', () => {
    fc.assert(
      fc.property(twoParts, ([left, right]) => {
        const same = isSame(left, right);
        expect(SessionKey.of(left).toString() === SessionKey.of(right).toString()).toBe(same);
        expect(SessionKey.of(left).equals(SessionKey.of(right))).toBe(same);
      }),
    );
  });

  test('an absent part is no string', () => {
    const absent = SessionKey.of({ sessionId: 's' });
    for (const userId of ['undefined', 'null', '%', '/', ' ']) {
      expect(absent.equals(SessionKey.of({ userId, sessionId: 's' }))).toBe(false);
    }
  });

  test.each([
    '',
    's',
    '//s',
    '////s',
    '///',
    '///S',
    '///%41%',
    '///%C3',
    '///a/b',
    '///%61',
    '///%u0061',
    '/// s',
  ])('refuses %j', (encoded) => {
    const error = errorOf(() => SessionKey.parse(encoded));
    expect(InvalidInputError.isInstance(error)).toBe(true);
    expect(error.message).toContain(`"${encoded}"`);
  });

  test('reads nothing but its own form', () => {
    fc.assert(
      fc.property(anyString, (text) => {
        let key: SessionKey;
        try {
          key = SessionKey.parse(`///${text}`);
        } catch (error) {
          expect(InvalidInputError.isInstance(error)).toBe(true);
          return;
        }
        expect(key.toString()).toBe(`///${text}`);
      }),
    );
  });
});

describe('SessionKey.path', () => {
  const folds = [
    (name: string) => name.toLowerCase(),
    (name: string) => name.toUpperCase(),
    (name: string) => name.normalize('NFC'),
    (name: string) => name.normalize('NFD'),
    (name: string) => name.normalize('NFKC').toLowerCase(),
  ];

  test('has a segment for every part there is', () => {
    expect(SessionKey.of({ userId: 'Alice', sessionId: 's' }).path).toEqual({
      tenantId: undefined,
      userId: '%41lice',
      agentId: undefined,
      sessionId: 's',
    });
  });

  test('differs wherever a part differs, on file systems that fold case or normalize too', () => {
    fc.assert(
      fc.property(twoParts, ([left, right]) => {
        const [leftPath, rightPath] = [SessionKey.of(left).path, SessionKey.of(right).path];
        for (const name of names) {
          const [first, second] = [leftPath[name], rightPath[name]];
          for (const fold of folds) {
            const same =
              first === undefined || second === undefined ? first === second : fold(first) === fold(second);
            expect(same).toBe(left[name] === right[name]);
          }
        }
      }),
    );
  });

  test.each(['\u00e9|e\u0301', 'STRASSE|straße', 'A|a', 'ﬁ|fi', '\ud800|\ud801', '.|..', 'con|CON'])(
    'tells %s apart',
    (pair) => {
      const [first = '', second = ''] = pair.split('|');
      for (const fold of folds) {
        expect(fold(SessionKey.of(first).path.sessionId)).not.toBe(
          fold(SessionKey.of(second).path.sessionId),
        );
      }
    },
  );

  test('is made of names of at most 255 bytes that lead nowhere else', () => {
    fc.assert(
      fc.property(anyParts, fc.integer({ min: 1, max: 200 }), (parts, times) => {
        const longer = { ...parts, sessionId: parts.sessionId.repeat(times) };
        for (const segment of Object.values(SessionKey.of(longer).path)) {
          if (segment === undefined) continue;
          expect(Buffer.byteLength(segment)).toBeLessThanOrEqual(255);
          expect(segment).toMatch(/^[a-z0-9_%-](?:[a-z0-9_.%-]*[a-z0-9_%-])?$/);
          expect(segment).not.toMatch(/^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/);
        }
      }),
    );
  });
});

describe('SessionKey.isWithin', () => {
  const key = SessionKey.of({ tenantId: 'acme', userId: 'alice', sessionId: 's-001' });

  test.each([
    [undefined, true],
    [{}, true],
    [{ userId: undefined }, true],
    [{ userId: 'alice' }, true],
    [{ tenantId: 'acme', userId: 'alice', sessionId: 's-001' }, true],
    [{ userId: 'Alice' }, false],
    [{ userId: 'ali' }, false],
    [{ agentId: 'coder' }, false],
    [{ userId: 'alice', sessionId: 's-002' }, false],
  ])('%j: %j', (scope, expected) => {
    expect(key.isWithin(scope)).toBe(expected);
  });

  test('refuses a scope with a part that there is not, which would be everybody’s', async () => {
    expect(() => key.isWithin({ user: 'alice' } as never)).toThrow('user: unknown key; did you mean userId?');
    for (const userId of ['', 1, null]) {
      expect(() => key.isWithin({ userId } as never)).toThrow('session scope');
      const listing = new InMemorySession().list({ userId } as never);
      await expect(listing.next()).rejects.toMatchObject({ subject: 'session scope' });
    }
  });

  test('holds for a scope of any of its own parts, and for no other key’s full parts', () => {
    fc.assert(
      fc.property(twoParts, fc.subarray([...names]), ([left, right], chosen) => {
        const scope = Object.fromEntries(chosen.map((name) => [name, left[name]]));
        expect(SessionKey.of(left).isWithin(scope)).toBe(true);
        const others = names.some((name) => right[name] !== undefined && right[name] !== left[name]);
        expect(SessionKey.of(left).isWithin(right)).toBe(!others);
      }),
    );
  });
});
