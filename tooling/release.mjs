// Checks and publishes the versions that `npx changeset version` wrote: `npm run release`.
import { inspectArchive } from './archives.ts';
import { report } from './checks/problem.ts';
import { addressProblem, repositoryUrl } from './repository.ts';
import { withTemporaryFolder } from './temporary-folder.ts';
import { buildAndPack, packing } from './walk/pack.mjs';
import { passes, root } from './workspace.mjs';

process.exitCode = (await release()) ? 0 : 1;

async function release() {
  const problem = addressProblem(repositoryUrl);
  if (problem !== undefined) {
    console.error(`[release] Nothing was published. ${problem}`);
    return false;
  }
  return withTemporaryFolder(async (folder) => {
    const packed = await buildAndPack(folder, (line) => console.error(`[release] ${line}`));
    const problems = packed.flatMap((archive) => inspectArchive(archive));
    report(problems);
    return (
      problems.length === 0 &&
      passes('turbo', ['run', 'check:package', 'check:types'], root) &&
      passes('changeset', ['publish'], root, packing)
    );
  });
}
