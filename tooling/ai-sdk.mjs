// Tests `@x/ai-sdk` against versions 5 and 7 of the AI SDK with their providers, beside which version 6 is installed. Version 7
// asks for Node 22: each is installed into a folder of its own, with npm, and runs on the Node that runs this.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** By the version: what is installed, and the tests that hold for it. */
const VERSIONS = {
  5: {
    packages: ['ai@5.0.277', '@ai-sdk/anthropic@2.0.112', '@ai-sdk/openai@2.0.130'],
    // `evictingTools` and `toAiSdk` are for version 6 and later: tools of version 5 word at once what the model sees.
    tests: [
      'test/wire.test.ts',
      'test/agent/dialect.test.ts',
      '-t',
      '^(?!.*(that evict them|when the SDK calls our model))',
    ],
  },
  7: {
    packages: ['ai@7.0.173', '@ai-sdk/anthropic@4.0.105', '@ai-sdk/openai@4.0.77'],
    tests: [
      'test/wire.test.ts',
      'test/agent',
      'test/from-ai-sdk.test.ts',
      'test/to-ai-sdk.test.ts',
      'test/ui',
    ],
  },
};
const packageFolder = fileURLToPath(new URL('../packages/ai-sdk', import.meta.url));

/** Runs a program to its end; whether it went well. */
function run(program, parameters, cwd, env = {}) {
  return (
    spawnSync(program, parameters, { cwd, stdio: 'inherit', env: { ...process.env, ...env } }).status === 0
  );
}

/** Tests against one version; whether all went well. */
function test(version, more) {
  const { packages, tests } = VERSIONS[version];
  const folder = mkdtempSync(join(tmpdir(), `x-ai-sdk-${version}-`));
  try {
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, type: 'module' }));
    const flags = ['--no-engine-strict', '--no-audit', '--no-fund', '--loglevel=error'];
    if (!run('npm', ['install', ...flags, ...packages, 'zod@^4'], folder)) {
      console.error(`${packages.join(', ')} could not be installed: npm says why above.`);
      return false;
    }
    console.log(`AI SDK ${version}: ${packages.join(', ')}`);
    return run('npm', ['exec', 'vitest', '--', 'run', ...tests, ...more], packageFolder, {
      X_AI_SDK: folder,
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const [asked, ...rest] = process.argv.slice(2);
const versions = asked in VERSIONS ? [asked] : Object.keys(VERSIONS);
const more = asked in VERSIONS || asked === undefined ? rest : [asked, ...rest];
process.exitCode = versions.filter((version) => !test(version, more)).length === 0 ? 0 : 1;
