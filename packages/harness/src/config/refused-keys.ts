import { InvalidInputError } from '@x/core';
import { toSnakeCase } from '@x/core/internal';
import { ownSettingsSchema } from '../agent/agent-parts.js';

const OF_AGENT = 'write it in the file of the agent';
const FROM_PARENT = 'a subagent has those of its parent';

/** Keys of an agent that subagents reject, with the reason and the right place. */
const NOT_IN_DEFINITIONS: Readonly<Record<string, string>> = {
  hooks: `those of its parent run for a subagent too: ${OF_AGENT}`,
  mcp_servers: `${FROM_PARENT}, with their connections: ${OF_AGENT}, and name its tools in tools`,
  subagents: `${FROM_PARENT}: ${OF_AGENT}`,
  session: `${FROM_PARENT}: ${OF_AGENT}`,
  isolation: `${FROM_PARENT}: ${OF_AGENT}`,
};

const OF_OPERATOR = [
  ...['features', 'capabilities', 'permissions', 'fallback', 'without'],
  ...Object.keys(ownSettingsSchema.shape).map(toSnakeCase),
];

const NARROWS = 'a file of the workspace only narrows: write it in definitions of the agent’s file';

/** By kind of agent: keys that it rejects although other kinds accept them, with the reason and the right place. */
const REASONS: Readonly<Record<'agent' | 'definition' | 'file', Readonly<Record<string, string>>>> = {
  agent: { without: 'leave the capability out' },
  definition: NOT_IN_DEFINITIONS,
  file: { ...Object.fromEntries(OF_OPERATOR.map((key) => [key, NARROWS])), ...NOT_IN_DEFINITIONS },
};

/** Matches a key of a capability's configuration that was written next to `ref` rather than under `config`. */
const BESIDE_REF = /^capabilities\[\d+\]\.[^.[]+$/;

/** Returns why a subagent cannot have its own capability of this name, or `undefined` if it can. */
export function notOfMembers(capability: string): string | undefined {
  return NOT_IN_DEFINITIONS[capability === 'mcp' ? 'mcp_servers' : capability];
}

/** Runs a parser. Adds reasons to its errors about keys that only other kinds of agents accept. */
export function withReasons<Result>(kind: 'agent' | 'definition' | 'file', run: () => Result): Result {
  try {
    return run();
  } catch (error) {
    if (!InvalidInputError.isInstance(error)) throw error;
    const reasons = new Map(Object.entries(REASONS[kind]));
    const issues = error.issues.map(({ path, message }) => {
      const known = BESIDE_REF.test(path) ? 'write it under config, next to ref' : reasons.get(path);
      const reason = message.startsWith('unknown key') ? known : undefined;
      return { path, message: reason === undefined ? message : `unknown key here; ${reason}` };
    });
    throw new InvalidInputError(error.subject, issues, { cause: error.cause });
  }
}
