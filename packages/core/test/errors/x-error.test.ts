import { beforeAll, describe, expect, test, vi } from 'vitest';
import * as here from '../../src/index.js';

type Package = typeof here;

/** One error of each class, made by `copy` of the package. */
function oneOfEach(copy: Package): Record<string, InstanceType<Package['XError']>> {
  return {
    CapabilityError: new copy.CapabilityError('compact', 'Install compaction.'),
    ContextOverflowError: new copy.ContextOverflowError(),
    InvalidInputError: new copy.InvalidInputError('Options', [{ path: 'a', message: 'is bad' }]),
    ModelError: new copy.ModelError('Overloaded.'),
    SessionConflictError: new copy.SessionConflictError({
      sessionKey: '///s',
      expected: 'token',
      actualVersion: 2,
    }),
    SessionStoreError: new copy.SessionStoreError('session_corrupt', 'Damaged.'),
    StopCallError: new copy.StopCallError('budget_exceeded', 'Enough.'),
    WorkspaceError: new copy.WorkspaceError('not_found', 'a.txt', 'There is no a.txt.'),
  };
}

const classes = {
  CapabilityError: here.CapabilityError,
  ContextOverflowError: here.ContextOverflowError,
  InvalidInputError: here.InvalidInputError,
  ModelError: here.ModelError,
  SessionConflictError: here.SessionConflictError,
  SessionStoreError: here.SessionStoreError,
  StopCallError: here.StopCallError,
  WorkspaceError: here.WorkspaceError,
};
const names = Object.keys(classes) as (keyof typeof classes)[];
/** Tests whether the class of that name made a value. */
const isOf = (name: keyof typeof classes, value: unknown) =>
  (classes[name] as typeof here.XError).isInstance(value);

describe('errors across two copies of the package', () => {
  let there: Package;
  beforeAll(async () => {
    vi.resetModules();
    there = await import('../../src/index.js');
  });

  test.each(names)('%s of the other copy is recognized, though it is no instance', (name) => {
    const error = oneOfEach(there)[name];
    expect(error).not.toBeInstanceOf(here.XError);
    expect(here.XError.isInstance(error)).toBe(true);
    expect(isOf(name, error)).toBe(true);
  });

  test.each(names)('%s of the other copy is of no other class', (name) => {
    const error = oneOfEach(there)[name];
    expect(names.filter((other) => isOf(other, error))).toEqual([name]);
  });
});

describe('XError', () => {
  test.each(names)('%s is an Error with its name, a code and a message', (name) => {
    const error = oneOfEach(here)[name];
    expect(error).toBeInstanceOf(Error);
    expect(error).toBeInstanceOf(here.XError);
    expect(error).toBeInstanceOf(classes[name]);
    expect(error?.name).toBe(name);
    expect(error?.code).toMatch(/^[a-z]+(_[a-z]+)*$/);
    expect(error?.message).not.toBe('');
    expect(error?.stack).toContain('x-error.test.ts');
  });

  test.each([undefined, null, 'XError', 7, {}, new Error('plain'), { name: 'XError', code: 'x' }])(
    'is not mistaken for %s',
    (value) => {
      expect(here.XError.isInstance(value)).toBe(false);
      expect(names.filter((name) => isOf(name, value))).toEqual([]);
    },
  );

  test('keeps the cause, and has no such property without one', () => {
    const cause = new TypeError('socket closed');
    expect(new here.XError('x', 'Failed.', { cause }).cause).toBe(cause);
    expect('cause' in new here.XError('x', 'Failed.')).toBe(false);
  });

  test('can be extended outside the package', () => {
    class QuotaError extends here.XError {
      constructor() {
        super('quota', 'Wait.');
      }
    }
    const error = new QuotaError();
    expect(error.name).toBe('QuotaError');
    expect([QuotaError.isInstance(error), here.XError.isInstance(error)]).toEqual([true, true]);
    expect(QuotaError.isInstance(new here.XError('quota', 'Wait.'))).toBe(false);
  });

  test('goes by its brand where a bundler has shortened the name of the class', () => {
    class e extends here.XError {
      static override readonly brand: string = 'acme.QuotaError';
    }
    class f extends here.XError {
      static override readonly brand: string = 'acme.LimitError';
    }
    const error = new e('quota', 'Wait.');
    expect(error.name).toBe('acme.QuotaError');
    expect([e.isInstance(error), f.isInstance(error)]).toEqual([true, false]);
  });
});
