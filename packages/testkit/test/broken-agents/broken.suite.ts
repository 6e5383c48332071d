import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LocalWorkspace } from '@x/core/node';
import { isolationSuite, permissionSuite } from '../../src/suites.js';
import { brokenAgents, looseAgents } from './broken-agents.js';
import { filesInMemory, smallAgent } from './small-agent.js';

for (const [name, holes, , direct] of brokenAgents) {
  isolationSuite({
    name,
    areas: { logs: /log-/, files: /big\.txt$/ },
    sequences: direct === undefined ? 100 : 200,
    async open(model) {
      const storage = filesInMemory();
      return { agent: smallAgent(model, storage, holes, direct), storage };
    },
  });
}

isolationSuite({
  name: 'FollowsSwappedLinks',
  areas: { logs: /log-/, files: /big\.txt$/ },
  sequences: 10,
  async open(model) {
    const storage = new LocalWorkspace(mkdtempSync(join(tmpdir(), 'x-swapped-')));
    const agent = smallAgent(model, storage);
    return { agent: { ...agent, close: async () => rmSync(storage.root, { recursive: true }) }, storage };
  },
});

for (const [name, open] of looseAgents) permissionSuite({ name, open });
