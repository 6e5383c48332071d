// Tests the adapters against versions of their frameworks that are not installed: other major versions, and the oldest and newest
// version that an adapter supports. Uses the running version of Node. Version 7 of the AI SDK needs Node 22.
import { fileURLToPath } from 'node:url';
import { passes, withPackages } from './workspace.mjs';

const langchain = (tests, version, core, graph, checkpoint) => ({
  adapter: 'langchain',
  packages: [
    `langchain@${version}`,
    `@langchain/core@${core}`,
    `@langchain/langgraph@${graph}`,
    `@langchain/langgraph-checkpoint@${checkpoint}`,
  ],
  tests,
});

/** By name: the adapter, the packages to install, and the arguments that select its tests. Without arguments, all tests run. */
const PEERS = {
  'ai-sdk-5': {
    adapter: 'ai-sdk',
    packages: ['ai@5.0.277', '@ai-sdk/anthropic@2.0.112', '@ai-sdk/openai@2.0.130'],
    // `evictingTools` needs version 6: in version 5, tools return the text for the model themselves.
    tests: ['test/wire.test.ts', 'test/agent/dialect.test.ts', '-t', '^(?!.*that evict them)'],
  },
  'ai-sdk-7': {
    adapter: 'ai-sdk',
    packages: ['ai@7.0.173', '@ai-sdk/anthropic@4.0.105', '@ai-sdk/openai@4.0.77'],
    tests: ['test/wire.test.ts', 'test/agent', 'test/from-ai-sdk.test.ts', 'test/ui'],
  },
  // This version gives summaries other ids.
  'langchain-oldest': langchain(
    ['-t', '^(?!.*the summary what LangChain leaves)'],
    ...['1.5.0', '1.2.0', '1.4.4', '1.2.1'],
  ),
  'langchain-newest': langchain([], 'latest', 'latest', 'latest', 'latest'),
  'openai-agents-oldest': {
    adapter: 'openai-agents',
    packages: ['@openai/agents@0.11.0'],
    // Excludes comparisons with sessions that this version of the SDK does not have.
    tests: ['-t', '^(?!.*(the SDK’s own session|a guardrail refused|every kind of session))'],
  },
  'openai-agents-newest': { adapter: 'openai-agents', packages: ['@openai/agents@latest'], tests: [] },
};

/** Tests one adapter with other packages. Returns whether all tests passed. */
function test(name, more) {
  const { adapter, packages, tests } = PEERS[name];
  return withPackages([...packages, 'zod@^4'], (folder) => {
    console.log(`${name}: ${packages.join(', ')}`);
    const cwd = fileURLToPath(new URL(`../packages/${adapter}`, import.meta.url));
    return passes('npm', ['exec', 'vitest', '--', 'run', ...tests, ...more], cwd, { X_PEERS: folder });
  }).catch((error) => console.error(error.message));
}

const [asked = '', ...rest] = process.argv.slice(2);
const names = Object.keys(PEERS).filter((name) => name.startsWith(asked));
if (names.length === 0)
  console.error(`No set is called ${asked}. Available: ${Object.keys(PEERS).join(', ')}.`);
const failed = [];
for (const name of names) if (!(await test(name, rest))) failed.push(name);
if (failed.length > 0) console.error(`Failed: ${failed.join(', ')}`);
process.exitCode = names.length > 0 && failed.length === 0 ? 0 : 1;
