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

for (const [name, open] of looseAgents) permissionSuite({ name, open });
