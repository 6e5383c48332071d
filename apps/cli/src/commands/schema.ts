import { agentFileSchema } from '../agent/capabilities.js';
import { command } from '../command.js';

export const schema = command({
  name: 'schema',
  options: {},
  summary: 'Prints the JSON Schema of agent.yaml, for editors.',
  examples: ['x schema > agent.schema.json'],
  async run({ output }) {
    output.write(`${JSON.stringify(agentFileSchema(), null, 2)}\n`);
  },
});
