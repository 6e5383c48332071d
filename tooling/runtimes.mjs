// Runs the bundles of what runs anywhere in Bun, Deno and workerd. Their programs have 350 MB, so that they are no dependencies.
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bundled, PURE } from './checks/pure.ts';
import { withPackages } from './workspace.mjs';

const PACKAGES = ['bun@1.4.5', 'deno@2.9.6', 'workerd@1.20261117.1'];
/** Only against what hangs. */
const timeout = 300_000;

await withPackages(PACKAGES, async (folder) => {
  const run = (program, ...parameters) => {
    const path = join(folder, 'node_modules/.bin', program);
    const { status, stdout, stderr } = spawnSync(path, parameters, {
      cwd: folder,
      encoding: 'utf8',
      timeout,
    });
    return { ok: status === 0, text: `${stdout}${stderr}`.trim() };
  };
  /** Each fails unless the program in `program.mjs` gives the expected answer. */
  const runtimes = {
    bun: () => run('bun', 'run', 'main.mjs'),
    deno: () => run('deno', 'run', '--no-prompt', 'main.mjs'),
    workerd: () => run('workerd', 'test', 'worker.capnp'),
  };
  for (const pure of PURE) {
    writeFileSync(join(folder, 'program.mjs'), await bundled(pure, 'esm'));
    const check = `const found = await answer(); if (found !== ${JSON.stringify(pure.expected)}) throw new Error(found);`;
    writeFileSync(join(folder, 'main.mjs'), `import { answer } from './program.mjs';\n${check}\n`);
    writeFileSync(
      join(folder, 'worker.mjs'),
      `import { answer } from './program.mjs';\nexport default { async test() { ${check} } };\n`,
    );
    writeFileSync(
      join(folder, 'worker.capnp'),
      `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (services = [(name = "main", worker = (
  modules = [
    (name = "worker.mjs", esModule = embed "worker.mjs"),
    (name = "program.mjs", esModule = embed "program.mjs"),
  ],
  compatibilityDate = "2026-01-01",
))]);
`,
    );
    for (const [name, runIt] of Object.entries(runtimes)) {
      const { ok: passed, text: said } = runIt();
      console.log(`${pure.folder} in ${name}: ${passed ? 'ok' : `FAILED\n${said}`}`);
      if (!passed) process.exitCode = 1;
    }
  }
});
