import { describe, expect, it } from 'vitest';
import { createCompactionFactories } from '../../src/index.js';
import { lines, rounds } from '../build.js';
import { GOOD_SUMMARY, modelOf, said } from '../models.js';
import { scopeOf } from '../scope.js';

const compactionFactories = createCompactionFactories();

describe('the factories without options', () => {
  it('makes capabilities from what files hold, also from nothing', () => {
    const names = ['compaction', 'tool_result_eviction'] as const;
    expect(Object.keys(compactionFactories)).toEqual(names);
    for (const name of names) expect(compactionFactories[name]?.(undefined).name).toBe(name);
    expect(compactionFactories.tool_result_eviction?.({ max_result_chars: 9_000 }).name).toBe(names[1]);
  });

  it('refuses in the words of the file', () => {
    expect(() => compactionFactories.compaction?.({ keep_mesages: 3 })).toThrow('keep_mesages: unknown key');
    expect(() => compactionFactories.tool_result_eviction?.({ max_result_chars: 10 })).toThrow(
      'preview_chars: head and tail together must be shorter than max_result_chars',
    );
    expect(() => compactionFactories.compaction?.({ model: 'scribe' })).toThrow('no model named "scribe"');
    const file = { keep_mesages: 3 };
    expect(() => createCompactionFactories({ defaultModel: 'own', file })).toThrow(
      'Invalid compaction.yaml: keep_mesages: unknown key',
    );
  });

  it.each([
    ['the agent’s own model by default', {}, 'own', {}],
    ['a dedicated model by name', { model: 'scribe' }, 'scribe', {}],
    ['the one of compaction.yaml', {}, 'scribe', { model: 'scribe' }],
  ])('summarizes with %s', async (_, own, expected, file) => {
    const asked: string[] = [];
    const model = (id: string) =>
      modelOf(
        () => {
          asked.push(id);
          return GOOD_SUMMARY;
        },
        { id },
      );
    const factories = createCompactionFactories({
      agents: { scribe: { model: model('scribe') } },
      defaultModel: 'own',
      file: { trigger: { messages: 10 }, ...file },
      defaults: { trigger: { messages: 0 } },
    });
    const capability = factories.compaction(own);
    const messages = rounds(8, () => ({ output: lines(100) }));
    await capability.aroundReason?.(scopeOf(messages, { model: model('own') }), async () => said('done'));
    expect(new Set(asked)).toEqual(new Set([expected]));
  });
});
