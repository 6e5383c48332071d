import { agentFileSchema } from '../agent/capabilities.js';
import { type Command, readArguments } from '../command.js';

const usage = 'x schema';

/** Prints the JSON Schema of `agent.yaml`. */
export const schema: Command = {
  usage,
  summary: 'Prints the JSON Schema of agent.yaml, for editors: x schema > agent.schema.json',
  async run(args, output) {
    readArguments(usage, args, {});
    output.write(`${JSON.stringify(agentFileSchema(), null, 2)}\n`);
  },
};
