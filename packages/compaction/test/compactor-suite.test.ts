import { compactorSuite } from '@x/testkit/suites';
import { createCompactor } from '../src/index.js';
import { GOOD_SUMMARY, modelOf } from './models.js';

const conversations = 4;

compactorSuite({ name: 'without a model', conversations, create: () => createCompactor() });
compactorSuite({
  name: 'with summaries',
  conversations,
  create: () => createCompactor({ model: modelOf(() => GOOD_SUMMARY), triggerMessages: 12 }),
});
compactorSuite({
  name: 'with a summarizer that always fails',
  conversations,
  create: () =>
    createCompactor({
      strategy: 'summarization',
      model: modelOf(() => Promise.reject(new Error('The provider is down.'))),
    }),
});
compactorSuite({
  name: 'in tiers, with pruning',
  conversations,
  create: () =>
    createCompactor({
      memoryTiers: { hotMessages: 4, warmMessages: 8 },
      previewArgs: { mode: 'compaction', argThreshold: 50, protectPercent: 0.2 },
    }),
});
compactorSuite({
  name: 'by masking alone',
  conversations,
  create: () => createCompactor({ strategy: 'observation_masking', maskOutputs: { format: 'head_tail' } }),
});
