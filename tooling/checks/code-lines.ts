import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Problem } from './problem.js';

/** Maximum number of code lines for each group of folders. The folder "" contains every file that no earlier group contains. */
export type Budget = Readonly<
  Record<string, { readonly lines: number; readonly folders: readonly string[] }>
>;

const CODE = /\.(?:ts|tsx|mts|mjs|js|css)$/;
const TEST = /(?:^|\/)test\/|\.test\.ts$|^tooling\/test-support\//;

/** Selects the files whose lines count: code that is not a test. */
export function sourceFiles(files: readonly string[]): readonly string[] {
  return files.filter((file) => CODE.test(file) && !TEST.test(file));
}

/** Counts the lines that are neither blank nor a comment. A line with code before or after a comment counts. */
export function codeLines(text: string): number {
  let count = 0;
  let isInComment = false;
  for (const line of text.split('\n').map((each) => each.trim())) {
    if (isInComment) isInComment = !line.includes('*/');
    else if (line.startsWith('/*')) isInComment = !line.includes('*/');
    else if (line !== '' && !line.startsWith('//')) count++;
  }
  return count;
}

/** Prints the code lines of every group, and reports each group that is over its budget. */
export function checkBudget(root: string, files: readonly string[], budget: Budget): readonly Problem[] {
  const counts = new Map(Object.keys(budget).map((group) => [group, 0]));
  for (const file of sourceFiles(files)) {
    const group = groupOf(file, budget);
    const known = counts.get(group) ?? 0;
    counts.set(group, known + codeLines(readFileSync(join(root, file), 'utf8')));
  }
  const rows = [...counts].map(([group, lines]) => ({ group, lines, most: budget[group]?.lines ?? 0 }));
  for (const { group, lines, most } of [...rows, sumOf(rows)]) {
    console.log(`${group.padEnd(12)} ${String(lines).padStart(6)} of ${String(most).padStart(6)}`);
  }
  return rows
    .filter(({ lines, most }) => lines > most)
    .map(({ group, lines, most }) => ({
      file: 'tooling/budget.json',
      message: `allows ${most} code lines for "${group}", which has ${lines}; delete some, or raise the number and say why in the commit message`,
    }));
}

function groupOf(file: string, budget: Budget): string {
  const found = Object.entries(budget).find(([, { folders }]) =>
    folders.some((folder) => folder === '' || file.startsWith(`${folder}/`)),
  );
  return found?.[0] ?? 'files in no group';
}

function sumOf(rows: readonly { readonly lines: number; readonly most: number }[]) {
  const sum = (key: 'lines' | 'most') => rows.reduce((total, row) => total + row[key], 0);
  return { group: 'sum', lines: sum('lines'), most: sum('most') };
}
