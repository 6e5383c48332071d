import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import type { Problem } from './checks/problem.js';

/**
 * Maximum size of each package's archive (gzipped) in kB: about a sixth more than its size when the limit was set. If you raise a limit, say
 * why in the commit message.
 */
const LIMITS: Readonly<Record<string, number>> = {
  'packages/core': 500,
  'packages/compaction': 450,
  'packages/memory': 255,
  'packages/harness': 560,
  'packages/session-redis': 62,
  'packages/session-mysql': 45,
  'packages/session-postgres': 30,
  'packages/session-sqlite': 30,
  'packages/ai-sdk': 125,
  'packages/langchain': 65,
  'packages/openai-agents': 30,
  'packages/replay': 105,
  'packages/testkit': 180,
  'apps/cli': 190,
};

const required = ['README.md', 'LICENSE', 'package.json'];
const allowed = /^(?:README\.md|LICENSE|package\.json|(?:dist|src)\/.+)$/;
const unwanted = /(?:^|\/)(?:test|fixtures|node_modules)\/|\.test\.|\.tsbuildinfo$/;

/** One archive of {@link LIMITS}. */
interface Archive {
  /** Folder of the package, relative to the root of the repository. */
  readonly folder: string;
  /** Path of the `.tgz` file. */
  readonly tarball: string;
}

/** Checks the size of an archive. Finds missing and unnecessary files, and source maps without their sources. */
export function inspectArchive({ folder, tarball }: Archive, limits = LIMITS): readonly Problem[] {
  const directory = mkdtempSync(join(tmpdir(), 'x-archive-'));
  try {
    const { status, stderr } = spawnSync('tar', ['-xzf', tarball, '-C', directory], { encoding: 'utf8' });
    if (status !== 0) throw new Error(`${tarball} cannot be unpacked: ${stderr}`);
    const files = readdirSync(join(directory, 'package'), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => relative(join(directory, 'package'), join(parentPath, name)));
    return [
      ...sizeProblems(folder, Math.ceil(statSync(tarball).size / 1000), limits),
      ...required.filter((file) => !files.includes(file)).map((file) => `has no ${file}`),
      ...files
        .filter((file) => !allowed.test(file) || unwanted.test(file))
        .map((file) => `contains ${file}, which users do not need`),
      ...files.filter((file) => file.endsWith('.map')).flatMap((file) => lostSources(directory, file)),
    ].map((message) => ({ file: folder, message: `its archive ${message}` }));
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function sizeProblems(folder: string, size: number, limits: Readonly<Record<string, number>>) {
  const limit = limits[folder];
  if (limit === undefined) return [`has ${size} kB and no limit: add one to tooling/archives.ts`];
  return size > limit ? [`has ${size} kB, above its limit of ${limit} kB in tooling/archives.ts`] : [];
}

/** Returns a message for each source of a map that is neither in the map nor in the archive. */
function lostSources(directory: string, file: string): readonly string[] {
  const path = join(directory, 'package', file);
  const { sources, sourceRoot, sourcesContent } = JSON.parse(readFileSync(path, 'utf8')) as {
    readonly sources: readonly string[];
    readonly sourceRoot?: string;
    readonly sourcesContent?: readonly (string | null)[];
  };
  return sources
    .filter((_, index) => typeof sourcesContent?.[index] !== 'string')
    .filter((source) => !existsSync(join(dirname(path), sourceRoot ?? '', source)))
    .map((source) => `contains ${file}, but not its source ${source}`);
}
