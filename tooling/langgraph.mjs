// Runs LangGraph's validation of checkpointers on `SessionSaver` of `@x/langchain` with every store, or with the stores in the arguments.
import { fileURLToPath } from 'node:url';
import { passes, withPackages } from './workspace.mjs';

const PACKAGES = [
  '@langchain/langgraph-checkpoint-validation@1.1.1',
  '@langchain/langgraph-checkpoint@^1.2.2',
  '@langchain/core@^1.4.0',
  'vitest@^4.1.12',
];
const STORES = ['memory', 'files', 'sqlite', 'redis', 'mysql', 'postgres'];
const here = fileURLToPath(new URL('langgraph', import.meta.url));
const asked = process.argv.slice(2);

await withPackages(PACKAGES, (folder) => {
  const failed = (asked.length > 0 ? asked : STORES).filter(
    (store) => !passes('npm', ['exec', 'vitest', '--', 'run'], here, { X_LANGGRAPH: folder, X_STORE: store }),
  );
  if (failed.length > 0) console.error(`The validation failed with: ${failed.join(', ')}.`);
  process.exitCode = failed.length > 0 ? 1 : 0;
});
