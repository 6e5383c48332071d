// Compiles the code in the documentation, runs what is marked to run and every example; prints what fails and exits 1.
import { join, relative } from 'node:path';
import { checkDocuments } from './documents.js';
import { type Problem, report } from './problem.js';
import { runModules } from './run-module.js';
import { filesBelow, repository } from './workspace.js';

report([...(await checkDocuments(repository)), ...(await runExamples())]);

/** The root's own type check covers the examples; here they run. */
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
