import { readFileSync } from 'node:fs';
import { OptionDefaults } from 'typedoc';

const { url } = JSON.parse(readFileSync(new URL('tooling/repository.json', import.meta.url), 'utf8'));

const validation = { invalidLink: true, notExported: false };

/** The API reference. Its links to sources lead to a placeholder until the repository has an address. */
export default {
  name: 'x',
  readme: 'none',
  highlightLanguages: ['bash', 'javascript', 'json', 'markdown', 'sql', 'typescript', 'yaml'],
  entryPointStrategy: 'packages',
  entryPoints: ['packages/*'],
  packageOptions: {
    entryPoints: ['src/index.ts'],
    // `@code` describes a code of an error, for `npm run reference`.
    blockTags: [...OptionDefaults.blockTags, '@code'],
    disableGit: true,
    skipErrorChecking: true,
    sourceLinkTemplate: `${url || 'https://example.com/x'}/blob/main/{path}#L{line}`,
    validation,
  },
  // Comments that are inherited from LangGraph link to types that only its own reference has.
  externalSymbolLinkMappings: { '@langchain/langgraph-checkpoint': { '*': '#' } },
  out: 'docs/public/api',
  treatWarningsAsErrors: true,
  validation,
};
