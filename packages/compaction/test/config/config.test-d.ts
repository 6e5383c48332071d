import { compaction, createCompactor } from '../../src/index.js';

// Compiled by the check of types: an error that is expected and missing fails it.

createCompactor({ contextWindow: 32_000, keep: { messages: 20 } });
createCompactor({ preset: 'agentscope', keepMessages: 20 });
createCompactor({ preset: 'aura', keepLastMessages: 20 });
createCompactor({ preset: 'everruns', budgetPercent: 0.8 });
compaction({ trigger: { bytes: 1_000_000 }, compactTool: true });

// @ts-expect-error keys of a preset need its name
createCompactor({ contextWindow: 32_000, keepMessages: 20 });
// @ts-expect-error
createCompactor({ maxTokens: 32_000 });
// @ts-expect-error
createCompactor({ strategy: 'auto' });
// @ts-expect-error
compaction({ triggerMessages: 30 });
// @ts-expect-error
compaction({ threshold: 80, keep: { messages: 3 } });
// @ts-expect-error keys of another preset
createCompactor({ preset: 'aura', keepMessages: 20 });
// @ts-expect-error
createCompactor({ preset: 'agentscope', threshold: 80 });
// @ts-expect-error groups beside a preset
createCompactor({ preset: 'everruns', keep: { messages: 3 } });
// @ts-expect-error a misspelt key
createCompactor({ contextwindow: 32_000 });
// @ts-expect-error
createCompactor({ keep: { mesages: 3 } });

const written = { contextWindow: 32_000, keepMessages: 20 };
// @ts-expect-error also in a variable
createCompactor(written);
