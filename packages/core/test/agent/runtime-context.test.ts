import { describe, expect, expectTypeOf, test } from 'vitest';
import { InvalidInputError, RuntimeContext } from '../../src/index.js';
import type { RuntimeIdentity } from '../../src/internal.js';
import { errorOf } from '../error-of.js';

class TenantInfo {
  readonly plan: string;
  constructor(plan: string) {
    this.plan = plan;
  }
}
abstract class Clock {
  abstract now(): number;
}
class FixedClock extends Clock {
  now(): number {
    return 7;
  }
}

describe('RuntimeContext', () => {
  test('is empty, or has the ids that it is given', () => {
    const empty = RuntimeContext.empty();
    expect([empty.tenantId, empty.userId, empty.sessionId]).toEqual(Array(3).fill(undefined));
    expect(empty.extra).toEqual({});
    expect(RuntimeContext.of({ userId: 'alice', sessionId: 's-001' })).toMatchObject({
      userId: 'alice',
      sessionId: 's-001',
      tenantId: undefined,
    });
  });

  test('keeps values by string and by class apart', () => {
    const tenant = new TenantInfo('pro');
    const context = RuntimeContext.builder()
      .userId('alice')
      .sessionId('s-001')
      .tenantId('acme')
      .put('request_id', 'req-1')
      .put('TenantInfo', 'by name')
      .put(TenantInfo, tenant)
      .build();
    expect(context.get('request_id')).toBe('req-1');
    expect(context.get('TenantInfo')).toBe('by name');
    expect(context.get(TenantInfo)).toBe(tenant);
    expect(context.extra).toEqual({ request_id: 'req-1', TenantInfo: 'by name' });
    expect(context.get('missing')).toBeUndefined();
    expect(RuntimeContext.empty().get(TenantInfo)).toBeUndefined();
  });

  test('types what is found under a class, and nothing under a string', () => {
    const context = RuntimeContext.builder().put(Clock, new FixedClock()).build();
    expectTypeOf(context.get(Clock)).toEqualTypeOf<Clock | undefined>();
    expectTypeOf(context.get('clock')).toBeUnknown();
    expect(context.get(Clock)?.now()).toBe(7);
  });

  test('refuses a value under a class that is not an instance of it', () => {
    const builder = RuntimeContext.builder();
    // @ts-expect-error The value has another type.
    expect(() => builder.put(TenantInfo, { nothing: true })).toThrow(
      'Invalid RuntimeContext: put(TenantInfo): is not an instance of TenantInfo',
    );
    expect(builder.build().get(TenantInfo)).toBeUndefined();
  });

  test('takes any string for a key of extra', () => {
    const context = RuntimeContext.builder()
      .put('__proto__', 'mine')
      .put('constructor', 0)
      .put('', null)
      .build();
    expect(Object.entries(context.extra)).toEqual([
      ['__proto__', 'mine'],
      ['constructor', 0],
      ['', null],
    ]);
    expect(context.get('toString')).toBeUndefined();
  });

  test('extra is a copy: changing it changes nothing', () => {
    const context = RuntimeContext.builder().put('a', 1).build();
    (context.extra as Record<string, unknown>).a = 2;
    expect(context.get('a')).toBe(1);
  });

  test.each([
    [{ sessionId: '' }, 'sessionId'],
    [{ userId: '' }, 'userId'],
    [{ tenantId: '' }, 'tenantId'],
    [{ userId: 5 }, 'userId'],
    [{ user: 'alice' }, 'user'],
  ])('refuses %j', (identity, path) => {
    const error = errorOf(() => RuntimeContext.of(identity as RuntimeIdentity));
    expect(InvalidInputError.isInstance(error) && error.issues.map((issue) => issue.path)).toEqual([path]);
  });
});

describe('RuntimeContextBuilder', () => {
  test('refuses an empty id when it builds', () => {
    const error = errorOf(() => RuntimeContext.builder().userId('').build());
    expect(error.message).toMatch(/^Invalid RuntimeContext: userId: /);
  });

  test('starts with what another context holds, and leaves that alone', () => {
    const tenant = new TenantInfo('pro');
    const source = RuntimeContext.builder()
      .tenantId('acme')
      .userId('alice')
      .sessionId('s-001')
      .put('request_id', 'req-1')
      .put(TenantInfo, tenant)
      .build();
    const derived = RuntimeContext.builder(source).sessionId('s-002').put('request_id', 'req-2').build();
    expect([derived.tenantId, derived.userId, derived.sessionId]).toEqual(['acme', 'alice', 's-002']);
    expect(derived.get(TenantInfo)).toBe(tenant);
    expect(derived.get('request_id')).toBe('req-2');
    expect([source.sessionId, source.get('request_id')]).toEqual(['s-001', 'req-1']);
  });

  test('does not change what it has built', () => {
    const builder = RuntimeContext.builder().userId('alice').put('a', 1);
    const first = builder.build();
    const second = builder.userId('bob').put('a', 2).put(TenantInfo, new TenantInfo('free')).build();
    expect([first.userId, first.get('a'), first.get(TenantInfo)]).toEqual(['alice', 1, undefined]);
    expect([second.userId, second.get('a')]).toEqual(['bob', 2]);
  });
});
