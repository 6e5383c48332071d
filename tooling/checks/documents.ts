import { existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { extractFences, type Fence } from './fences.js';
import type { Problem } from './problem.js';
import { runModule } from './run-module.js';
import { typeCheck } from './type-check.js';
import { filesBelow, members } from './workspace.js';

/** Compiles the TypeScript of every README and guide, and runs what is marked to run. */
export async function checkDocuments(root: string): Promise<readonly Problem[]> {
  const extracted = documents(root).map((file) =>
    extractFences(file, readFileSync(join(root, file), 'utf8')),
  );
  const fences = extracted.flatMap((document) => document.fences);
  // Below the examples, so that documentation may import what examples/package.json lists, and nothing else.
  const cache = join(root, 'examples/node_modules/.cache');
  await mkdir(cache, { recursive: true });
  const directory = await mkdtemp(join(cache, 'fences-'));
  try {
    return [
      ...extracted.flatMap((document) => document.problems),
      ...(await checkFences(root, directory, fences)),
    ];
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function checkFences(
  root: string,
  directory: string,
  fences: readonly Fence[],
): Promise<readonly Problem[]> {
  const byPath = new Map(fences.map((fence, index) => [join(directory, `${index}.mts`), fence]));
  for (const [path, { code }] of byPath) await writeFile(path, code);
  const problems: Problem[] = typeCheck(root, [...byPath.keys()]).flatMap(({ path, line, message }) => {
    const fence = byPath.get(path);
    return fence === undefined ? [] : [{ file: fence.file, line: fence.line + line, message }];
  });
  for (const [path, { file, line, run, output }] of byPath) {
    if (!run) continue;
    const { stdout, failure } = await runModule(path);
    if (failure !== undefined) problems.push({ file, line, message: `this code ${failure}` });
    else if (output !== undefined && plain(stdout) !== plain(output)) {
      problems.push({ file, line, message: `this code does not print what stands below it, but\n${stdout}` });
    }
  }
  return problems;
}

/** A text without the space at the end of its lines. */
function plain(text: string): string {
  return text.replaceAll(/[ \t]+$/gm, '').trim();
}

function documents(root: string): readonly string[] {
  const readmes = [...members(root, 'packages'), ...members(root, 'apps')].map(
    ({ folder }) => `${folder}/README.md`,
  );
  const guides = filesBelow(root, 'docs').filter((file) => file.endsWith('.md'));
  return ['README.md', 'CONTRIBUTING.md', 'examples/README.md', ...readmes, ...guides].filter((file) =>
    existsSync(join(root, file)),
  );
}
