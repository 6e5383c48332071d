// Compiles the code in the documentation, runs what is marked to run and every example; prints what fails and exits 1.
import { join } from 'node:path';
import { checkDocuments } from './documents.js';
import { type Problem, report } from './problem.js';
import { runModule } from './run-module.js';
import { filesBelow, repository } from './workspace.js';

report([...(await checkDocuments(repository)), ...(await runExamples())]);

/** The root's own type check covers the examples; here they run. */
async function runExamples(): Promise<readonly Problem[]> {
  const problems: Problem[] = [];
  for (const file of filesBelow(repository, 'examples').filter((path) => path.endsWith('.ts'))) {
    const { failure } = await runModule(join(repository, file));
    if (failure !== undefined) problems.push({ file, message: failure });
  }
  return problems;
}
