import { copyFile, mkdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';

const folder = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));

/** Builds the command into one file, once a run: compiling it in each of its processes would take most of the time. */
export default async function buildCommand(): Promise<void> {
  const conditions = ['@x/source', 'node'];
  await mkdir(folder('node_modules/.cache/x'), { recursive: true });
  await copyFile(folder('package.json'), folder('node_modules/.cache/x/package.json'));
  await build({
    root: folder('.'),
    configFile: false,
    logLevel: 'error',
    resolve: { conditions },
    ssr: { noExternal: [/^@x\//], resolve: { conditions } },
    build: {
      ssr: 'src/main.ts',
      outDir: folder('node_modules/.cache/x/dist'),
      emptyOutDir: true,
      target: 'node20',
    },
  });
}
