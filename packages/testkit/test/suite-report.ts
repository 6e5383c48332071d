import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

interface Report {
  readonly testResults: readonly {
    readonly assertionResults: readonly {
      readonly ancestorTitles: readonly string[];
      readonly title: string;
      readonly status: string;
    }[];
  }[];
}

/** Runs suites that must not pass in a Vitest of their own; answers the status of each test below a title. */
export async function runBroken(folder: string): Promise<(title: string) => ReadonlyMap<string, string>> {
  const vitest = join(dirname(createRequire(import.meta.url).resolve('vitest/package.json')), 'vitest.mjs');
  const directory = mkdtempSync(join(tmpdir(), `x-${folder}-`));
  const output = join(directory, 'report.json');
  const config = join(import.meta.dirname, folder, 'vitest.config.ts');
  const said = await run([vitest, 'run', '--config', config, '--reporter=json', `--outputFile=${output}`]);
  const report = read(output, said);
  rmSync(directory, { recursive: true, maxRetries: 20 });
  const results = report.testResults.flatMap((file) => file.assertionResults);
  return (title) => {
    const own = results.filter(({ ancestorTitles }) => ancestorTitles.includes(title));
    return new Map(own.map((result) => [result.title, result.status]));
  };
}

/** What it printed. That it fails is as it should be. */
function run(args: readonly string[]): Promise<string> {
  return new Promise((done) => {
    execFile(process.execPath, args, { maxBuffer: 1 << 28 }, (_, stdout, stderr) => done(stdout + stderr));
  });
}

function read(path: string, said: string): Report {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Report;
  } catch (cause) {
    throw new Error(`There is no report: ${said}`, { cause });
  }
}
