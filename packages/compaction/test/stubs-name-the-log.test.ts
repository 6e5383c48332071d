import { textOf, userMessage } from '@x/core';
import { describe, expect, it } from 'vitest';
import { compaction } from '../src/index.js';
import { at, lines, rounds } from './build.js';
import { scopeOf } from './scope.js';

describe('a stub', () => {
  it('names the message by which the log holds the original', async () => {
    const messages = [userMessage('go'), ...rounds(12, () => ({ output: lines(60) }))];
    const scope = scopeOf(messages);
    const masking = compaction({ stages: ['mask_outputs', 'drop_oldest'], contextWindow: 4_000 });
    await masking.compact?.(scope, {});
    const stub = at(scope.state.context, 2);
    const [, id = ''] = /log message ([\w-]+)/.exec(textOf(stub)) ?? [];
    expect(textOf(stub)).not.toContain('line 30');
    expect(await scope.log.get(id)).toEqual(messages[2]);
  });
});
