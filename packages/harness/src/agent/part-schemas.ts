import type { Capability, JsonObject, Model, SessionStore, TokenCounter, Tool, Workspace } from '@x/core';
import { callable, having, isObject, isPlain } from '@x/core/internal';
import * as z from 'zod';
import { narrowingShape } from '../capabilities/permissions/permissions.js';

const SNAKE_CASE = /^[a-z][a-z0-9]*(?:_[a-z0-9]+)*$/;

const MODEL = having<Model>('generate', 'a model; wrap a model of a provider, for example with @x/ai-sdk');

const SCHEMA = z.custom<JsonObject>(
  (schema) => isObject(schema) && schema.type === 'object',
  "must be a JSON Schema with type 'object'",
);

const TOOL = z.object(
  {
    definition: z.object(
      { name: z.string(), description: z.string(), inputSchema: SCHEMA },
      'must be an object; make the tool with defineTool of @x/core',
    ),
    run: callable<Tool['run']>(),
  },
  'must be a tool; make one with defineTool of @x/core',
);

const hook = z.optional(callable<() => void>());
const CAPABILITY_MEMBERS: Readonly<Record<keyof Capability, z.ZodType>> = {
  name: z.string('must be a string; if the capability is a promise, await it first').regex(SNAKE_CASE, {
    error: ({ input }) =>
      `${JSON.stringify(input)} is not in snake_case, which configuration files require; rename it, for example to "my_capability"`,
  }),
  before: z.array(z.string()).optional(),
  behind: z.array(z.string()).optional(),
  tools: z.array(TOOL).optional(),
  ...{ install: hook, system: hook, remind: hook, offerTools: hook, authorize: hook, unattended: hook },
  ...{ aroundCall: hook, aroundReason: hook, aroundModel: hook, aroundTool: hook, confine: hook },
  ...{ deniesFiles: hook, priceOf: hook, observe: hook, monitor: hook, beforeReduction: hook, compact: hook },
  ...{ tokenRatio: hook, undo: hook, explain: hook, pin: hook, unpin: hook, erase: hook, close: hook },
};

/** An unknown member is probably a misspelt hook, which would do nothing. Instances of classes may have further members. */
function knownMembers(value: unknown): unknown {
  if (!isObject(value) || isPlain(value)) return value;
  return Object.fromEntries(Object.keys(CAPABILITY_MEMBERS).map((member) => [member, value[member]]));
}

const CAPABILITY = z.preprocess(
  knownMembers,
  z.strictObject(CAPABILITY_MEMBERS, {
    error: ({ code }) =>
      code === 'invalid_type' ? 'must be a capability: an object with a name, not a function' : undefined,
  }),
);

const WORKSPACE = having<Workspace>('read', 'a workspace, such as new LocalWorkspace(…)');

/** The parts of an agent as passed to its builder. Checked for callers without a type checker. */
export const partsSchema = z.object({
  model: z.optional(MODEL),
  fallback: z.array(MODEL),
  fallbackWhen: callable(),
  tools: z.array(TOOL),
  capabilities: z.array(CAPABILITY),
  narrow: z.strictObject(narrowingShape),
  workspace: z.union([z.string('must be a path'), WORKSPACE]),
  storage: z.optional(WORKSPACE),
  session: z.optional(having<SessionStore>('commit', 'a session store, such as new JsonSession(…)')),
  tokenCounter: having<TokenCounter>('count', 'a token counter, such as estimateCounter of @x/core'),
  onEvent: z.array(callable()),
});
