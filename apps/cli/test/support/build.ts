import { copyFile, mkdir, rm, symlink } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';

const folder = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));

/** A library with compiled code, which no bundle can hold. */
const COMPILED = 'better-sqlite3';

/** Builds the command, and a program of the tests, once a run: compiling it in each of its processes would take most of the time. */
export default async function buildCommand(): Promise<void> {
  const conditions = ['@x/source', 'node'];
  const link = folder(`node_modules/.cache/x/node_modules/${COMPILED}`);
  await mkdir(folder('node_modules/.cache/x/node_modules'), { recursive: true });
  await copyFile(folder('package.json'), folder('node_modules/.cache/x/package.json'));
  await rm(link, { force: true });
  await symlink(folder(`../../packages/session-sqlite/node_modules/${COMPILED}`), link);
  await build({
    root: folder('.'),
    configFile: false,
    logLevel: 'error',
    resolve: { conditions },
    ssr: { noExternal: [/^@x\//], external: [COMPILED], resolve: { conditions } },
    build: {
      ssr: true,
      outDir: folder('node_modules/.cache/x/dist'),
      emptyOutDir: true,
      target: 'node20',
      rollupOptions: {
        treeshake: false,
        input: { main: folder('src/main.ts'), 'paid-tools': folder('test/children/paid-tools.ts') },
        external: [COMPILED],
      },
    },
  });
}
