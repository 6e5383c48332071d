import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { JsonSession, LocalWorkspace } from '@x/core/node';
import { isolationSuite, permissionSuite } from '../../src/suites.js';
import { brokenAgents, brokenPromises, looseAgents } from './broken-agents.js';
import { filesInMemory, smallAgent } from './small-agent.js';

for (const [name, holes] of brokenAgents) {
  isolationSuite({
    name,
    areas: { logs: /log-/, files: /big\.txt$/ },
    sequences: 100,
    async open(model) {
      const storage = filesInMemory();
      return { agent: smallAgent(model, storage, holes), storage };
    },
  });
}

for (const [name, , holes, { area = /log-/, leftAfterErasing = async () => [] } = {}] of brokenPromises) {
  isolationSuite({
    name,
    areas: { logs: area },
    sequences: 10,
    leftAfterErasing,
    async open(model) {
      const directory = mkdtempSync(join(tmpdir(), 'x-broken-agent-'));
      const session = new JsonSession({ directory: join(directory, 'sessions') });
      const storage = new LocalWorkspace(join(directory, 'files'));
      const agent = smallAgent(model, storage, holes, session);
      return { agent, storage, session };
    },
  });
}

for (const [name, open] of looseAgents) permissionSuite({ name, open });
