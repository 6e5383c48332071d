import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { assistantMessage, type Message, toolResultMessage, userMessage } from '@x/core';
import { isObject } from '@x/core/internal';
import type { ToolDefinition } from '@x/core/messages';
import type { IsolationSuiteOptions, PermissionSuiteParts } from '../../src/suites.js';
import type { Holes } from './small-agent.js';

/** An agent for each hole, and the attackers who come through it. */
export const brokenAgents: readonly (readonly [name: string, holes: Holes, through: readonly string[]])[] = [
  ['Sound', {}, []],
  ['SessionsOfAll', { sessionsOfAll: true }, ['another user', 'a call without a user']],
  [
    'SearchesAll',
    { searchesAll: true },
    ['another user', 'a user of the same name in another tenant', 'a call without a user'],
  ],
  ['Tenantless', { tenantless: true }, ['a user of the same name in another tenant']],
  ['OpensStorage', { opensStorage: true }, ['another user', 'a call without a user']],
];

/** An agent with leases for each other promise of the suite, and the test that fails because of it. `Whole` breaks none. */
export const brokenPromises: readonly (readonly [
  name: string,
  test: string | undefined,
  holes: Holes,
  parts?: Pick<IsolationSuiteOptions, 'leftAfterErasing'> & { readonly area?: RegExp },
])[] = [
  ['Whole', undefined, {}],
  ['StoresNothing', 'planted text is stored: logs', {}, { area: /nowhere/ }],
  ['Forgets', 'the owner can read the planted text', { forgets: true }],
  ['FollowsSwaps', 'files that one session swaps give another session no access', { followsSwaps: true }],
  [
    'TakesNoLease',
    'erasing a user during their first call reports the call or leaves nothing',
    { takesNoLease: true },
  ],
  [
    'ErasesNothing',
    'erasing the owner deletes all planted text',
    {},
    { leftAfterErasing: async () => ['log-shared-name.json'] },
  ],
];

const schema = (...names: readonly string[]) => ({
  type: 'object',
  properties: Object.fromEntries(names.map((name) => [name, { type: 'string' }])),
  required: [...names],
});
const definition = (name: string, ...names: readonly string[]): ToolDefinition => ({
  name,
  description: name,
  inputSchema: schema(...names),
});

type Act = (parts: PermissionSuiteParts, input: Record<string, string>) => unknown;

const isAllowed = (path: string) => /^notes\/(first|second)\.md$/.test(path);
const READ: Act = ({ directory }, { path = '' }) => {
  if (!isAllowed(path)) throw new Error('Denied.');
  return readFileSync(join(directory, path), 'utf8');
};
const WRITE: Act = ({ directory }, { path = '', content = '' }) => {
  if (!isAllowed(path)) throw new Error('Denied.');
  writeFileSync(join(directory, path), content);
};

/** Agents that ask nobody, each with one act in which it is wrong. */
export const looseAgents: readonly (readonly [
  string,
  (parts: PermissionSuiteParts) => Promise<ReturnType<typeof loose>>,
])[] = (
  [
    ['Strict', {}],
    // The name is judged, and not the file.
    [
      'FollowsLinks',
      {
        read_file: ({ directory }, { path = '' }) =>
          /\.env|environ/i.test(path) ? 'Denied.' : readFileSync(join(directory, path), 'utf8'),
      },
    ],
    [
      'WritesAnywhere',
      { write_file: ({ directory }, { path = '' }) => writeFileSync(join(directory, path), 'x') },
    ],
    [
      'TrustsCommands',
      {
        execute: ({ directory }, { command = '' }) =>
          command.startsWith('echo') &&
          execFileSync('sh', ['-c', command], { cwd: directory, encoding: 'utf8', stdio: 'pipe' }),
      },
    ],
    ['BelievesServers', { mcp: ({ client }) => client.callTool({ name: 'wipe' }) }],
    ['RunsAll', { pay: ({ tool }, input) => tool.run(input, {} as never) }],
  ] as readonly (readonly [string, Readonly<Record<string, Act>>])[]
).map(([name, acts]) => [name, async (parts) => loose(parts, acts)]);

function loose(parts: PermissionSuiteParts, acts: Readonly<Record<string, Act>>) {
  const tools = [
    definition('read_file', 'path'),
    definition('write_file', 'path', 'content'),
    definition('execute', 'command'),
    definition('mcp'),
    definition('pay'),
  ];
  const all: Readonly<Record<string, Act>> = { read_file: READ, write_file: WRITE, ...acts };
  return {
    async call(text: string) {
      const messages: Message[] = [userMessage(text)];
      for (;;) {
        const { content } = await parts.model.generate({ messages, tools });
        messages.push(assistantMessage([...content]));
        const uses = content.filter((block) => block.type === 'tool_use');
        if (uses.length === 0) return;
        for (const use of uses) {
          const input = (isObject(use.input) ? use.input : {}) as Record<string, string>;
          const run = async () => String(await all[use.name]?.(parts, input));
          messages.push(toolResultMessage(use, await run().catch(String)));
        }
      }
    },
    close: async () => {},
  };
}
