import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { folders } from '../.vitepress/repository.mjs';

/** A page for every package and app: its README, as it lies beside the code. */
export default {
  watch: ['../../{packages,apps}/*/README.md'],
  paths: () =>
    Object.entries(folders).map(([name, folder]) => ({
      params: { name },
      content: readFileSync(fileURLToPath(new URL(`../../${folder}/README.md`, import.meta.url)), 'utf8'),
    })),
};
