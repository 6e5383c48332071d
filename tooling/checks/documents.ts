import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { withTemporaryFolder } from '../temporary-folder.js';
import { extractFences, type Fence } from './fences.js';
import type { Problem } from './problem.js';
import { runModules } from './run-module.js';
import { documents, repository } from './workspace.js';

/** Compiles the TypeScript of every README and guide, and runs the code that is marked with `run`. */
export async function checkDocuments(root: string): Promise<readonly Problem[]> {
  const extracted = documents(root).map((file) =>
    extractFences(file, readFileSync(join(root, file), 'utf8')),
  );
  const fences = extracted.flatMap((document) => document.fences);
  // Below the examples, so that documentation can import only the packages that examples/package.json lists.
  const cache = join(root, 'examples/node_modules/.cache');
  await mkdir(cache, { recursive: true });
  return [
    ...extracted.flatMap((document) => document.problems),
    ...(await withTemporaryFolder((directory) => checkFences(root, directory, fences), cache)),
  ];
}

async function checkFences(
  root: string,
  directory: string,
  fences: readonly Fence[],
): Promise<readonly Problem[]> {
  const byPath = new Map(fences.map((fence, index) => [join(directory, `${index}.mts`), fence]));
  for (const [path, { code }] of byPath) await writeFile(path, code);
  const problems = [...(await typeCheck(root, directory, byPath))];
  const runnable = [...byPath].filter(([, { run }]) => run).map(([path]) => path);
  for (const { path, stdout, failure } of await runModules(runnable, directory)) {
    const { file, line, output } = byPath.get(path) as Fence;
    if (failure !== undefined) problems.push({ file, line, message: `this code ${failure}` });
    // Guides must show the output, because their readers want to see it. READMEs may omit it.
    else if (!prints(stdout, output ?? (file.startsWith('docs/') ? '' : '…'))) {
      problems.push({
        file,
        line,
        message: `the output below this code is wrong; the code prints\n${stdout}`,
      });
    }
  }
  return problems;
}

/** Type-checks the fences in one program. The modules that they import are checked elsewhere. */
async function typeCheck(
  root: string,
  directory: string,
  byPath: ReadonlyMap<string, Fence>,
): Promise<readonly Problem[]> {
  const configuration = {
    extends: join(root, 'tsconfig.base.json'),
    compilerOptions: {
      moduleDetection: 'force',
      declaration: false,
      typeRoots: [join(repository, 'node_modules/@types')],
    },
    files: [...byPath.keys()],
  };
  await writeFile(join(directory, 'tsconfig.json'), JSON.stringify(configuration));
  const compiler = join(repository, 'node_modules/.bin/tsc');
  const { status, stdout, stderr } = spawnSync(compiler, ['-p', directory], { encoding: 'utf8' });
  const problems: Problem[] = [];
  let shown: Fence | undefined;
  for (const text of `${stdout}${stderr}`.trimEnd().split('\n')) {
    const [, path = '', line, message] = /^(.+)\((\d+),\d+\): error TS\d+: (.*)$/.exec(text) ?? [];
    if (message !== undefined) {
      shown = byPath.get(resolve(path));
      if (shown) problems.push({ file: shown.file, line: shown.line + Number(line) - 1, message });
    } else if (shown && text.startsWith(' ')) {
      const last = problems.pop();
      if (last) problems.push({ ...last, message: `${last.message}\n${text}` });
    } else if (status !== 0 && text !== '') problems.push({ file: 'documentation', message: text });
  }
  return problems;
}

/** Tests if a text matches the expected one, in which `…` matches any text, such as long or changing output. */
function prints(text: string, expected: string): boolean {
  const parts = plain(expected)
    .split('…')
    .map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('[\\s\\S]*')}$`).test(plain(text));
}

/** Returns a text without whitespace at the ends of its lines. */
function plain(text: string): string {
  return text.replaceAll(/[ \t]+$/gm, '').trim();
}
