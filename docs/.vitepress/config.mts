import { defineConfig } from 'vitepress';
import { folders, onThisSite } from './repository.mjs';

const page = (text: string, link: string) => ({ text, link });
const group = (text: string, pages: readonly (readonly [string, string])[]) => ({
  text,
  items: pages.map(([title, link]) => page(title, link)),
});

/** Delete this note and its use when the packages are on npm. */
const NOT_ON_NPM =
  '<p>The packages are not on npm yet: <a href="/choose-a-package#before-they-are-on-npm">install their archives</a>.</p>';

/** One page for each question. `npm run docs` builds them together with the API reference. */
export default defineConfig({
  title: '@x',
  description:
    'TypeScript packages for agents that run for hours: compaction, memory, sessions, and a harness.',
  cleanUrls: true,
  lastUpdated: false,
  // The reference is built by another program.
  ignoreDeadLinks: [/\/api\//],
  // One page replays logs by our own packages.
  vite: { resolve: { conditions: ['@x/source'] }, ssr: { noExternal: [/^@x\//] } },
  markdown: {
    config(markdown) {
      const { fence } = markdown.renderer.rules;
      markdown.renderer.rules.fence = (tokens, index, ...rest) =>
        `${fence?.(tokens, index, ...rest)}${/^npm install .*@x\//m.test(tokens[index].content) ? NOT_ON_NPM : ''}`;
      markdown.core.ruler.push('on-this-site', ({ tokens }) => {
        // Indented code looks like any other.
        for (const token of tokens.filter(({ type }) => type === 'code_block')) {
          Object.assign(token, { type: 'fence', info: 'text', markup: '```' });
        }
        for (const token of tokens.flatMap(({ children }) => children ?? [])) {
          const link = token.type === 'link_open' ? token.attrGet('href') : null;
          if (link !== null) token.attrSet('href', onThisSite(link));
        }
      });
    },
  },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    nav: [
      page('Guide', '/getting-started'),
      page('Reference', '/reference/keys'),
      { text: 'API', link: '/api/index.html', target: '_blank' },
      page('Compared with', '/compare'),
    ],
    sidebar: [
      group('Get started', [
        ['Quickstart', '/getting-started'],
        ['Choose a package', '/choose-a-package'],
      ]),
      group('Concepts', [
        ['The agent loop', '/agent-loop'],
        ['Settings and limits', '/agent-settings'],
        ['Messages and state', '/messages-and-state'],
        ['How compaction works', '/how-compaction-works'],
        ['Sessions and stores', '/sessions'],
        ['Memory', '/memory'],
        ['Architecture', '/architecture'],
      ]),
      group('Build', [
        ['Models', '/models'],
        ['When a model fails', '/when-a-model-fails'],
        ['Tools', '/tools'],
        ['Streaming and events', '/streaming'],
        ['Structured output', '/structured-output'],
        ['Permissions', '/permissions'],
        ['Rules for command lines', '/command-lines'],
        ['Approvals', '/approvals'],
        ['Sandbox', '/sandbox'],
        ['Subagents', '/subagents'],
        ['Skills and AGENTS.md', '/skills'],
        ['MCP servers', '/mcp'],
        ['Plans and todos', '/plan-and-todos'],
        ['Agents in files', '/agent-files'],
        ['Test your agent', '/test-your-agent'],
        ['Attack your agent', '/attack-your-agent'],
        ['Count the cost', '/count-the-cost'],
      ]),
      group('Compaction', [
        ['Triggers', '/triggers'],
        ['Stages', '/stages'],
        ['Summaries', '/summaries'],
        ['Provider compaction', '/provider-compaction'],
        ['Recall', '/recall'],
        ['Keep something forever', '/pins'],
        ['What was removed, undo', '/what-was-removed'],
        ['Large tool results', '/large-tool-results'],
        ['In your own loop', '/only-the-compactor'],
        ['Replay your own logs', '/replay'],
        ['Replay a log here', '/replay-here'],
      ]),
      group('Memory', [
        ['Memory', '/memory'],
        ['Without an agent', '/memory-service'],
        ['Search past sessions', '/session-history'],
        ['Full-text search', '/memory-search'],
        ['Serve memory over MCP', '/mcp-server'],
      ]),
      group('Storage', [
        ['Which store', '/sessions'],
        ['Redis', '/redis'],
        ['PostgreSQL', '/postgres'],
        ['MySQL and MariaDB', '/mysql'],
        ['SQLite', '/sqlite'],
      ]),
      group('Integrations', [
        ['AI SDK', '/ai-sdk'],
        ['Chats of useChat', '/use-chat'],
        ['LangChain and LangGraph', '/langchain'],
        ['OpenAI Agents', '/openai-agents'],
        ['Editors', '/editors'],
        ['Coming from AgentScope', '/coming-from-agentscope'],
        ['Coming from Everruns', '/coming-from-everruns'],
        ['Coming from Aura', '/coming-from-aura'],
      ]),
      group('Production', [
        ['Serve over HTTP', '/serve-an-agent'],
        ['Reconnect to a call', '/reconnect'],
        ['Scale out', '/many-machines'],
        ['Deploy', '/deploy'],
        ['When a store fails', '/when-a-store-fails'],
        ['Many users and tenants', '/multi-tenant'],
        ['Sizes and capacity', '/sizes-and-capacity'],
        ['Telemetry', '/telemetry'],
        ['Security', '/security'],
        ['Trust files and sessions', '/trust'],
        ['How security is tested', '/security-tests'],
        ['Erase a user', '/erase-a-user'],
      ]),
      group('Extend', [
        ['A capability', '/write-a-capability'],
        ['A stage', '/write-a-stage'],
        ['A session store', '/write-a-session-store'],
        ['Test a compactor', '/test-a-compactor'],
        ['Test a model', '/test-a-model'],
        ['Test a session store', '/test-a-session-store'],
        ['Test a workspace', '/test-a-workspace'],
      ]),
      group('Reference', [
        ['Configuration', '/configuration'],
        ['Every key', '/reference/keys'],
        ['Errors', '/reference/errors'],
        ['Command line', '/reference/cli'],
        ['@x/core', '/reference/core'],
        ['@x/harness', '/reference/harness'],
        ['@x/compaction', '/reference/compaction'],
        ['Compared with others', '/compare'],
        ['Reports from the field', '/field-reports'],
        ['Decisions', '/decisions/'],
      ]),
      {
        text: 'Packages',
        collapsed: true,
        items: Object.entries(folders).map(([name, folder]) =>
          page(
            folder === 'apps/cli' ? '@x/cli' : folder.startsWith('apps') ? folder : `@x/${name}`,
            `/packages/${name}`,
          ),
        ),
      },
    ],
  },
});
