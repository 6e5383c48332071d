import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

/** To the patch, because a figure belongs to a version. */
const PACKAGES = { '@mastra/core': '1.71.0', ai: '7.0.173', node: '22.23.3', zod: '4.6.7' } as const;

/** Modules in the folder, through which its packages are imported from here. */
const ENTRIES = {
  'ai-sdk-7': "export * from 'ai';\n",
  mastra: "export { Agent } from '@mastra/core/agent';\nexport { createTool } from '@mastra/core/tools';\n",
} as const;

const INSTALL_MS = 600_000;

export interface Node22 {
  /** Its program. */
  readonly node: string;
  readonly version: string;
  /** Names and versions of what was installed beside it. */
  readonly packages: string;
}

/**
 * Installs Node 22 and the agents that need it into an empty folder, with npm, from the network: about 340 MB.
 *
 * @throws {Error} with what npm wrote, when it cannot.
 */
export async function installNode22(folder: string, stopped: AbortSignal): Promise<Node22> {
  const { node: version, ...packages } = PACKAGES;
  const manifest = {
    name: 'x-bench-node22',
    private: true,
    type: 'module',
    dependencies: PACKAGES,
    // It fetches the program in an install script, which npm may be set to ask about.
    allowScripts: { node: true },
  };
  await writeFile(join(folder, 'package.json'), JSON.stringify(manifest));
  for (const [name, source] of Object.entries(ENTRIES)) await writeFile(join(folder, `${name}.mjs`), source);
  // Installed by this Node, run by the one that is being installed.
  const settings = [
    '--no-engine-strict',
    '--no-ignore-scripts',
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
  ];
  await promisify(execFile)('npm', ['install', ...settings], {
    cwd: folder,
    timeout: INSTALL_MS,
    signal: stopped,
  });
  const node = join(folder, 'node_modules/.bin/node');
  return {
    node,
    version,
    packages: Object.entries(packages)
      .map((entry) => entry.join(' '))
      .join(', '),
  };
}

/** What a module in the folder exports, once it is installed. */
export async function importInstalled<Exports>(folder: string, name: keyof typeof ENTRIES): Promise<Exports> {
  return import(pathToFileURL(join(folder, `${name}.mjs`)).href);
}
