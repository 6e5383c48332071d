import { describe, expect, it } from 'vitest';
import { ContextOverflowError, isContextOverflow, ModelError } from '../../src/index.js';
import { classifyModelError } from '../../src/messages.js';
import { clientErrors } from './model-errors/client-errors.js';
import { otherRefusals } from './model-errors/other-refusals.js';
import { overflows } from './model-errors/overflows.js';
import { httpError } from './model-errors/shapes.js';

describe('classifyModelError', () => {
  it.each(overflows)('takes for an overflow: %s (%i)', (_, status, body) => {
    expect(classifyModelError(httpError(status, body))).toBe('overflow');
    const wrapped = new ModelError('The call failed.', { status, cause: httpError(status, body) });
    expect(isContextOverflow(new Error('A step failed.', { cause: wrapped }))).toBe(true);
  });

  it.each(otherRefusals)('takes for something else: %s (%i)', (_, status, body, kind) => {
    expect(classifyModelError(httpError(status, body))).toBe(kind);
    expect(isContextOverflow(new Error('A step failed.', { cause: httpError(status, body) }))).toBe(false);
  });

  it.each(clientErrors)('reads what clients throw: %s', (_, error, kind) => {
    expect(classifyModelError(error)).toBe(kind);
  });

  it.each([
    [{ error: { message: 'No.', code: 'invalid_encrypted_content' } }, 'unreadable'],
    [{ error: { message: 'No.', details: { error_code: 'compaction_signature_invalid' } } }, 'unreadable'],
    [{ error: { message: 'messages.1: Invalid `signature` in `thinking` block' } }, 'unreadable'],
    [{ error: { message: 'No.', details: { error_code: 'compaction_incomplete_turn' } } }, 'payload'],
  ])('tells what a provider no longer reads: %j', (body, kind) => {
    expect(classifyModelError(httpError(400, body))).toBe(kind);
  });

  it('knows its own error, also without a provider’s', () => {
    expect(classifyModelError(new ContextOverflowError())).toBe('overflow');
  });

  it('survives errors of any shape', () => {
    const circular: { cause?: unknown; message: string } = { message: 'round' };
    circular.cause = { cause: circular, message: 'and round' };
    const shapes = [circular, undefined, null, 413, 'no', Symbol('x'), () => 1, { responseBody: '{broken' }];
    for (const value of shapes) expect(classifyModelError(value)).toBe('other');
  });
});
