// Compiles the code in the documentation, runs the code that is marked with `run`, and runs every example. Prints failures and exits with 1.
import { join, relative } from 'node:path';
import { checkDocuments } from './documents.js';
import { type Problem, report } from './problem.js';
import { runModules } from './run-module.js';
import { filesBelow, repository } from './workspace.js';

report([...(await checkDocuments(repository)), ...(await runExamples())]);

/** Runs the examples. The check `types` compiles them. */
async function runExamples(): Promise<readonly Problem[]> {
  const files = filesBelow(repository, 'examples').filter((path) => path.endsWith('.ts'));
  const outcomes = await runModules(
    files.map((file) => join(repository, file)),
    join(repository, 'examples/node_modules/.cache'),
  );
  return outcomes.flatMap(({ path, failure }) =>
    failure === undefined ? [] : [{ file: relative(repository, path), message: failure }],
  );
}
