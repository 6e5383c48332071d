import { defineConfig } from 'vitepress';

const page = (text: string, link: string) => ({ text, link });

/** The guides, one page a task. `npm run docs` builds them with the API reference beside. */
export default defineConfig({
  title: '@x',
  description:
    'TypeScript packages for agents that run for hours: compaction, memory, sessions, and a harness.',
  cleanUrls: true,
  lastUpdated: false,
  // Sources and packages are linked where they lie in the repository, and the reference is built by another program.
  ignoreDeadLinks: [/\/packages\//, /\/apps\//, /\/examples/, /\/api\//],
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
          page('Replay your own logs', '/replay'),
        ],
      },
      {
        text: 'Build',
        items: [
          page('Agents in files', '/agent-files'),
          page('Write a capability', '/write-a-capability'),
          page('Write a reducer', '/write-a-reducer'),
          page('Write a session store', '/write-a-session-store'),
        ],
      },
      {
        text: 'With other frameworks',
        items: [
          page('AI SDK', '/ai-sdk'),
          page('LangChain', '/langchain'),
          page('OpenAI Agents', '/openai-agents'),
          page('Coming from AgentScope', '/migrate-from-agentscope'),
        ],
      },
      {
        text: 'Run',
        items: [
          page('Many machines', '/many-machines'),
          page('Operations', '/operations'),
          page('Security', '/security'),
        ],
      },
      {
        text: 'Reference',
        items: [
          page('Configuration', '/configuration'),
          page('Every key', '/reference/keys'),
          page('Architecture', '/architecture'),
          page('Decisions', '/decisions/'),
        ],
      },
    ],
  },
});
