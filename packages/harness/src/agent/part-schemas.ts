import type { Capability, JsonObject, Model, SessionStore, TokenCounter, Tool, Workspace } from '@x/core';
import { callable, isObject, isPlain } from '@x/core/internal';
import * as z from 'zod';
import { narrowingShape } from '../capabilities/permissions/permissions.js';

const SNAKE_CASE = /^[a-z][a-z0-9]*(?:_[a-z0-9]+)*$/;

/**
 * Returns a schema that recognizes a part of an agent by the types of its members. Errors describe the value found, because JavaScript
 * callers have no type checker.
 */
function part<Part>(
  kind: string,
  members: { readonly [Member in keyof Part]?: 'string' | 'function' | 'object' },
  remedy: string,
  { orText = false, schema = z.object({}) }: { readonly orText?: boolean; readonly schema?: z.ZodType } = {},
) {
  const faultOf = (value: unknown): string | undefined => {
    const found = quoted(value);
    if (typeof value === 'function') {
      const isClass = /^class\b/.test(Function.prototype.toString.call(value));
      return isClass
        ? `${found} is a class, not ${kind}: pass new ${found}(…)`
        : `${found} is a function, not ${kind}: call it, and pass what it returns`;
    }
    if (orText && typeof value === 'string') return undefined;
    if (typeof value !== 'object' || value === null) return `${found} is not ${kind}; ${remedy}`;
    if (value instanceof Promise) return `is a promise of ${kind}: await it first`;
    const isOf = ([member, type]: readonly [string, unknown]) => typeof value[member as never] === type;
    return Object.entries(members).every(isOf) ? undefined : `is not ${kind}; ${remedy}`;
  };
  const known = z.custom<Part>((value) => faultOf(value) === undefined, {
    error: ({ input }) => faultOf(input),
  });
  // Validates without parsing, because an object schema's copy would not be used.
  return orText ? known : known.pipe(schema as z.ZodType<Part, Part>);
}

function quoted(value: unknown): string {
  if (typeof value === 'function') return value.name || 'it';
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
}

const MODEL = part<Model>(
  'a model',
  { id: 'string', generate: 'function' },
  'wrap that of a provider, for example with @x/ai-sdk',
);

const SCHEMA = z.custom<JsonObject>(
  (schema) => isObject(schema) && schema.type === 'object',
  "must be a JSON Schema with type 'object'",
);

const TOOL = part<Tool>(
  'a tool',
  { definition: 'object', run: 'function' },
  'make one with defineTool of @x/core',
  {
    schema: z.object({
      definition: z.object({ name: z.string(), description: z.string(), inputSchema: SCHEMA }),
    }),
  },
);

const hook = z.optional(callable<() => void>());
const CAPABILITY_MEMBERS: Readonly<Record<keyof Capability, z.ZodType>> = {
  name: z.string().regex(SNAKE_CASE, {
    error: ({ input }) =>
      `${quoted(input)} is not in snake_case, which files use; rename it like "my_capability"`,
  }),
  before: z.array(z.string()).optional(),
  behind: z.array(z.string()).optional(),
  tools: z.array(TOOL).optional(),
  ...{ install: hook, system: hook, remind: hook, offerTools: hook, authorize: hook, unattended: hook },
  ...{ aroundCall: hook, aroundReason: hook, aroundModel: hook, aroundTool: hook, confine: hook },
  ...{ deniesFiles: hook, priceOf: hook, observe: hook, monitor: hook, beforeReduction: hook, compact: hook },
  ...{ tokenRatio: hook, undo: hook, explain: hook, pin: hook, unpin: hook, erase: hook, close: hook },
};

/** An unknown member is probably a misspelt hook, which would do nothing. Instances of classes may have members of their own. */
function knownMembers(value: object): object {
  if (isPlain(value)) return value;
  return Object.fromEntries(
    Object.keys(CAPABILITY_MEMBERS).map((member) => [member, value[member as never]]),
  );
}

const CAPABILITY = part<Capability>(
  'a capability',
  { name: 'string' },
  'pass an object with a name; a CapabilityRegistry loads one by its name',
  { schema: z.preprocess(knownMembers, z.strictObject(CAPABILITY_MEMBERS)) },
);

const WORKSPACE = part<Workspace>(
  'a workspace',
  { read: 'function', write: 'function' },
  'pass a path, or one such as new LocalWorkspace(…)',
  { orText: true },
);

/** The parts of an agent as passed to its builder. */
export const partsSchema = z.object({
  model: MODEL.optional(),
  fallback: z.array(MODEL),
  fallbackWhen: callable(),
  tools: z.array(TOOL),
  capabilities: z.array(CAPABILITY),
  narrow: z.strictObject(narrowingShape),
  workspace: WORKSPACE,
  storage: part<Workspace>(
    'a workspace',
    { read: 'function', write: 'function' },
    'pass one such as new LocalWorkspace(…)',
  ).optional(),
  session: part<SessionStore>(
    'a session store',
    { load: 'function', commit: 'function' },
    'pass one, such as new JsonSession(…)',
  ).optional(),
  tokenCounter: part<TokenCounter>(
    'a token counter',
    { count: 'function' },
    'pass one, such as estimateCounter of @x/core',
  ),
  onEvent: z.array(callable()),
});
