import { describe, expect, test } from 'vitest';
import {
  CapabilityError,
  ContextOverflowError,
  InvalidInputError,
  ModelError,
  SessionConflictError,
  SessionStoreError,
  WorkspaceError,
} from '../../src/index.js';

const cause = new Error('underneath');

describe('the fields of errors', () => {
  test('CapabilityError', () => {
    expect(new CapabilityError('compact', 'Install compaction.', { cause })).toMatchObject({
      code: 'capability_missing',
      ability: 'compact',
      message: 'Install compaction.',
      cause,
    });
  });

  test('ContextOverflowError says what to do when nothing else is known', () => {
    const error = new ContextOverflowError();
    expect(error).toMatchObject({ code: 'context_overflow', modelId: undefined, inputTokens: undefined });
    expect(error.message).toMatch(/Compact the conversation/);
    expect(
      new ContextOverflowError('Too long.', { cause, modelId: 'm', inputTokens: 9, contextWindow: 8 }),
    ).toMatchObject({ message: 'Too long.', cause, modelId: 'm', inputTokens: 9, contextWindow: 8 });
  });

  test('InvalidInputError lists its issues, with a path where there is one', () => {
    const issues = [
      { path: 'a.b', message: 'is bad' },
      { path: '', message: 'is empty' },
    ];
    const error = new InvalidInputError('Options', issues, { cause, remedy: 'See the guide.' });
    expect(error).toMatchObject({ code: 'invalid_input', subject: 'Options', issues, cause });
    expect(error.message).toBe('Invalid Options: a.b: is bad; is empty. See the guide.');
  });

  test('ModelError is not retryable unless it says so', () => {
    expect(new ModelError('No.')).toMatchObject({ code: 'model_error', retryable: false, status: undefined });
    expect(
      new ModelError('Busy.', { modelId: 'm', retryable: true, status: 529, retryAfterMs: 0, cause }),
    ).toMatchObject({ modelId: 'm', retryable: true, status: 529, retryAfterMs: 0, cause });
  });

  test('SessionConflictError names both versions', () => {
    const error = new SessionConflictError({
      sessionKey: '///s',
      expected: 'token',
      actualVersion: 0,
      cause,
    });
    expect(error).toMatchObject({
      code: 'session_conflict',
      sessionKey: '///s',
      expected: 'token',
      actualVersion: 0,
      cause,
    });
    expect(error.message).toMatch(/^Session \/\/\/s no longer exists: .*Load the session again/);
  });

  test.each(['session_corrupt', 'session_unavailable'] as const)('SessionStoreError %s', (code) => {
    expect(new SessionStoreError(code, 'Failed.', { sessionKey: '///s', cause })).toMatchObject({
      code,
      sessionKey: '///s',
      cause,
    });
    expect(new SessionStoreError(code, 'Failed.').sessionKey).toBeUndefined();
  });

  test('WorkspaceError keeps the path as it was given', () => {
    expect(new WorkspaceError('outside_workspace', '../x', 'No.', { cause })).toMatchObject({
      code: 'outside_workspace',
      path: '../x',
      cause,
    });
  });
});
