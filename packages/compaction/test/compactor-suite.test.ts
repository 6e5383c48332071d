import { compactorSuite } from '@x/testkit/suites';
import { createCompactor } from '../src/index.js';
import { maskOutputs } from '../src/stages/mask-outputs.js';
import { previewArgs } from '../src/stages/preview-args.js';
import { GOOD_SUMMARY, modelOf } from './models.js';

const conversations = 4;

compactorSuite({ name: 'without a model', conversations, create: () => createCompactor() });
compactorSuite({
  name: 'with summaries',
  conversations,
  create: () => createCompactor({ model: modelOf(() => GOOD_SUMMARY), trigger: { messages: 12 } }),
});
compactorSuite({
  name: 'with a summarizer that always fails',
  conversations,
  create: () =>
    createCompactor({
      stages: ['summarize', 'drop_oldest'],
      model: modelOf(() => Promise.reject(new Error('The provider is down.'))),
    }),
});
compactorSuite({
  name: 'with pruning',
  conversations,
  create: () =>
    createCompactor({
      stages: [
        previewArgs({ mode: 'compaction', argThreshold: 50, protectPercent: 0.2 }),
        'summarize',
        'drop_oldest',
      ],
    }),
});
compactorSuite({
  name: 'in tiers',
  conversations,
  create: () => createCompactor({ preset: 'everruns', memoryTiers: { hotMessages: 4, warmMessages: 8 } }),
});
compactorSuite({
  name: 'by masking alone',
  conversations,
  create: () => createCompactor({ stages: [maskOutputs({ format: 'head_tail' }), 'drop_oldest'] }),
});
