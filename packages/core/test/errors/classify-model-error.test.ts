import { describe, expect, it } from 'vitest';
import { ContextOverflowError, classifyModelError, isContextOverflow, ModelError } from '../../src/index.js';
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
