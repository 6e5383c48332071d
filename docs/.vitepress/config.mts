import { defineConfig } from 'vitepress';
import { folders, onThisSite } from './repository.mjs';

const page = (text: string, link: string) => ({ text, link });

/** The guides, one page a task. `npm run docs` builds them with the API reference beside. */
export default defineConfig({
  title: '@x',
  description:
    'TypeScript packages for agents that run for hours: compaction, memory, sessions, and a harness.',
  cleanUrls: true,
  lastUpdated: false,
  // The reference is built by another program.
  ignoreDeadLinks: [/\/api\//],
  markdown: {
    config(markdown) {
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
      page('Configuration', '/configuration'),
      { text: 'API', link: '/api/index.html', target: '_blank' },
      page('Decisions', '/decisions/'),
    ],
    sidebar: [
      {
        text: 'Begin',
        items: [
          page('Getting started', '/getting-started'),
          page('Only the compactor', '/only-the-compactor'),
          page('Only the memory', '/only-the-memory'),
          page('Only the sessions', '/only-the-sessions'),
          page('Replay your own logs', '/replay'),
          page('Can somebody go on?', '/reading'),
        ],
      },
      {
        text: 'Build',
        items: [
          page('Agents in files', '/agent-files'),
          page('Approvals', '/approvals'),
          page('Subagents', '/subagents'),
          page('MCP', '/mcp'),
          page('Structured output', '/structured-output'),
          page('Test your agent', '/test-your-agent'),
          page('Attack your agent', '/attack-your-agent'),
          page('Write a capability', '/write-a-capability'),
          page('Write a reducer', '/write-a-reducer'),
          page('Write a session store', '/write-a-session-store'),
          page('Test a session store', '/test-a-session-store'),
          page('Test a workspace', '/test-a-workspace'),
          page('Test a compactor', '/test-a-compactor'),
          page('Test a model', '/test-a-model'),
        ],
      },
      {
        text: 'With other frameworks',
        items: [
          page('AI SDK', '/ai-sdk'),
          page('LangChain', '/langchain'),
          page('OpenAI Agents', '/openai-agents'),
          page('Coming from AgentScope', '/coming-from-agentscope'),
          page('Coming from Everruns', '/coming-from-everruns'),
          page('Coming from Aura', '/coming-from-aura'),
        ],
      },
      {
        text: 'Run',
        items: [
          page('Serve an agent', '/serve-an-agent'),
          page('Deploy', '/deploy'),
          page('Many machines', '/many-machines'),
          page('Scale', '/scale'),
          page('Operations', '/operations'),
          page('Telemetry', '/telemetry'),
          page('Security', '/security'),
        ],
      },
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
      {
        text: 'Reference',
        items: [
          page('Configuration', '/configuration'),
          page('Every key', '/reference/keys'),
          page('@x/core', '/reference/core'),
          page('@x/harness', '/reference/harness'),
          page('@x/compaction', '/reference/compaction'),
          page('Troubleshooting', '/troubleshooting'),
          page('Glossary', '/glossary'),
          page('Beside others', '/compare'),
          page('Architecture', '/architecture'),
          page('Decisions', '/decisions/'),
        ],
      },
    ],
  },
});
