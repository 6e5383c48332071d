import * as z from 'zod';
import type { AgentState, PendingApproval } from '../agent/agent-state.js';
import type { RuntimeContext } from '../agent/runtime-context.js';
import { callable, parseWith } from '../config/parse.js';
import { OutcomeUnknownError } from '../errors/call-errors.js';
import { turnTaker } from '../lib/in-pieces.js';
import { isPlain, type JsonObject, type JsonValue } from '../lib/json.js';
import { notify } from '../lib/notify.js';
import { errorText } from '../lib/text.js';
import type { TextOrigin, ToolOutputBlock, ToolUseBlock } from '../messages/content-block.js';
import { toolOutputBlockSchema } from '../messages/message-schemas.js';
import type { SessionLog } from '../sessions/session-store.js';
import type { FileRule, Workspace } from '../workspace/workspace.js';
import { compileSchema, type StandardSchema } from './compile-schema.js';
import type { ToolDefinition } from './model.js';

/** A human's decision on a call, as the session stores it. */
export type ApprovalDecision = NonNullable<PendingApproval['decision']>;

/** Context of one tool run. */
export interface ToolContext {
  readonly call: ToolUseBlock;
  /**
   * Identifies this call, 64 characters. It is the same if any process runs the call again. Pass it to services that accept an
   * idempotency key, so that a payment is made once.
   */
  readonly idempotencyKey: string;
  /**
   * Fencing token of the lease under which the call runs. It grows with each lease of the session. A service that rejects tokens below the
   * largest one it has seen is safe from stalled processes. `undefined` if there are no leases.
   */
  readonly fence?: number | undefined;
  readonly runtime: RuntimeContext;
  readonly state: AgentState;
  /** The files that the model may see. */
  readonly workspace: Workspace;
  /** The agent's own files, of all its users. */
  readonly storage: Workspace;
  readonly log: SessionLog;
  /** The rules that deny files, for a tool that enforces them on programs that it runs. `workspace` enforces them itself. */
  readonly deniedFiles?: readonly FileRule[];
  /** Aborted when the call is interrupted or the tool times out. */
  readonly signal: AbortSignal;
  /** Reports progress in the call's events. Each update replaces the previous one. */
  readonly onUpdate?: ((output: readonly ToolOutputBlock[]) => void) | undefined;
  /**
   * Decisions, by approval id, on the approvals that this tool call requested with an `ApprovalRequiredError`. `undefined` on the first
   * run.
   */
  readonly decisions?: Readonly<Record<string, ApprovalDecision>> | undefined;
}

/** {@link ToolContext} for `execute`. */
export interface ExecuteContext extends ToolContext {
  /** Reports progress. The model reads only the result. */
  onUpdate(output: ToolReturn): void;
}

/**
 * The function of a tool. A generator (sync or async) reports each yielded value as progress. Its result is the returned value, or else the
 * last yielded one.
 */
type Execute<Input> = (
  input: Input,
  context: ExecuteContext,
) => ToolReturn | Promise<ToolReturn> | Generating;

type Generating = AsyncGenerator<ToolReturn, unknown> | Generator<ToolReturn, unknown>;

/**
 * A tool's return value. Values other than text and blocks become JSON. In JSON, a bigint, an error and a non-finite number become text,
 * and a `Map` or `Set` becomes a list. Returning an `Error` has the same effect as throwing it.
 */
export type ToolReturn = string | readonly ToolOutputBlock[] | JsonValue | undefined;

/** How a tool uses a path of the workspace: reads the file, lists or searches the directory, writes the file, or reads and writes it. */
export type PathRole = 'read' | 'walk' | 'write' | 'edit';

/** A tool that the model can call. Create one with {@link defineTool}. */
export interface Tool {
  readonly definition: ToolDefinition;
  /** The tool changes nothing, so it may run in parallel with other tools and in plan mode. Default false. */
  readonly readOnly: boolean;
  /** The tool may destroy data that cannot be restored. Default false. */
  readonly destructive?: boolean | undefined;
  /**
   * The tool changes only the agent's own notes, such as a todo list or a plan. It needs no permission, and it works in plan mode. Default
   * false.
   */
  readonly sessionOnly?: boolean | undefined;
  /**
   * The notes outlive the session. Plan mode and the mode `explore` then deny the tool, and the mode `dont_ask` runs the tool only if a rule
   * allows it. Default false.
   */
  readonly persists?: boolean | undefined;
  /** Who wrote the text of the results. Default: the agent if `sessionOnly` is set, files if `paths` is set, otherwise unknown. */
  readonly origin?: TextOrigin | undefined;
  /**
   * The tool returns one page of something larger and says how to get the next page. Its results are never evicted into files, because
   * reading such a file would need paging again. Default false.
   */
  readonly paged?: boolean | undefined;
  /** The arguments that are paths of the workspace, each with its use. Permission rules check the real paths. */
  readonly paths?: Readonly<Record<string, PathRole>> | undefined;
  /** The directory in which the argument `command` runs. Rules resolve relative paths from it. Default: the root of the workspace. */
  readonly directory?: string | undefined;
  /** The tool prevents the programs that it runs from opening `deniedFiles` of its context. Default false. */
  readonly keepsFiles?: boolean | undefined;
  /** Identifies this version of the tool. A server may change a tool under the same name; approvals and stored rules then no longer apply. */
  readonly fingerprint?: string | undefined;
  /**
   * Converts the model's input to the input of `run`. Permission rules check the result. Default: the unchanged input.
   *
   * @throws {InvalidInputError} with the path of every invalid field.
   */
  parse?(input: JsonValue): JsonValue | Promise<JsonValue>;
  /**
   * Calls of the same step may run in parallel although they have effects, such as downloads. Default false: they run one after the other.
   */
  readonly parallel?: boolean | undefined;
  /** Timeout in milliseconds. 0 means no timeout. Default: the agent's `limits.toolMs`. */
  readonly timeoutMs?: number | undefined;
  /**
   * Validates the input and runs the tool. An exception becomes an error result that the model reads.
   *
   * @throws {InvalidInputError} with the path of every invalid field.
   * @throws {OutcomeUnknownError} if the tool ran, but its return value cannot be written as JSON.
   */
  run(input: JsonValue, context: ToolContext): Promise<readonly ToolOutputBlock[]>;
}

/** Options that are copied to the tool only if they are set. */
const OPTIONAL = [
  'destructive',
  'sessionOnly',
  'persists',
  'origin',
  'parallel',
  'paged',
  'paths',
  'directory',
  'keepsFiles',
  'timeoutMs',
] as const;

type ToolOptions = Pick<ToolDefinition, 'name' | 'description'> &
  Partial<Pick<Tool, 'readOnly' | (typeof OPTIONAL)[number]>>;

const NAME = /^[\w-]{1,128}$/;
const BAD_NAME = 'must be 1 to 128 letters, digits, _ or -, because providers accept no other names';
const optionsSchema = z.looseObject({
  name: z.string(BAD_NAME).regex(NAME, BAD_NAME),
  description: z.string('must be a string'),
  execute: callable(),
  timeoutMs: z
    .custom<number>(
      (ms) => typeof ms === 'number' && ms >= 0,
      'must be a number of milliseconds, or 0 for no limit',
    )
    .optional(),
});

/**
 * Creates a tool whose input is described by a Standard Schema that can be converted to JSON Schema, such as zod 4.
 *
 * @example
 * ```ts
 * const weather = defineTool({
 *   name: 'weather',
 *   description: 'Tells the weather of a city.',
 *   input: z.strictObject({ city: z.string() }),
 *   readOnly: true,
 *   execute: ({ city }) => `It is sunny in ${city}.`,
 * });
 * ```
 * @throws {InvalidInputError} if the schema cannot be written as JSON Schema, if `description` or `execute` is missing, if providers
 * reject the name, or if `timeoutMs` is invalid.
 */
export function defineTool<Input>(
  options: ToolOptions & {
    readonly input: StandardSchema<Input>;
    readonly execute: Execute<Input>;
  },
): Tool;
/**
 * Creates a tool whose input is described by plain JSON Schema (draft 7, or 2020-12 by its `$schema` or `$defs`).
 *
 * @throws {InvalidInputError} if the schema cannot be used to validate inputs, for example because of a `$ref` to another document.
 */
export function defineTool(
  options: ToolOptions & {
    readonly input: JsonObject;
    readonly execute: Execute<JsonObject>;
  },
): Tool;
export function defineTool<Input>(
  options: ToolOptions & {
    readonly input: StandardSchema<Input> | JsonObject;
    readonly execute: Execute<Input>;
  },
): Tool {
  const { name, description, readOnly = false } = options;
  parseWith(optionsSchema, options, `tool ${name || ''}`.trim());
  const schema = compileSchema(options.input, {
    owner: `tool ${name}`,
    path: 'input',
    value: `input of tool ${name}`,
  });
  return {
    definition: { name, description, inputSchema: schema.jsonSchema },
    readOnly,
    ...Object.fromEntries(
      OPTIONAL.filter((key) => options[key] !== undefined).map((key) => [key, options[key]]),
    ),
    parse: (input) => schema.parse(input) as JsonValue | Promise<JsonValue>,
    async run(input, context) {
      // A failed progress update must not end the tool run.
      const onUpdate = (output: ToolReturn) =>
        notify(
          'onUpdate',
          context.onUpdate && ((shown) => context.onUpdate?.(toBlocks(shown as ToolReturn))),
          output,
        );
      const wider: ExecuteContext = { ...context, onUpdate };
      const work = options.execute(await schema.parse(input), wider);
      const returned: unknown = isGenerator(work) ? await lastOf(work, wider) : await work;
      if (returned instanceof Error) throw returned;
      try {
        return toBlocks(returned as ToolReturn);
      } catch (cause) {
        throw new OutcomeUnknownError(`The result of ${name} cannot be stored: ${errorText(cause)}`, {
          cause,
        });
      }
    },
  };
}

function isGenerator(work: ReturnType<Execute<never>>): work is Generating {
  if (typeof work !== 'object' || work === null) return false;
  return Symbol.asyncIterator in work || (Symbol.iterator in work && 'next' in work);
}

async function lastOf(work: Generating, { onUpdate, signal }: ExecuteContext): Promise<ToolReturn> {
  const giveWay = turnTaker();
  let last: ToolReturn;
  for (;;) {
    const { done, value } = await work.next();
    if (done) return (value as ToolReturn) ?? last;
    const turn = giveWay();
    if (turn !== undefined) await turn;
    if (signal?.aborted) {
      await work.return(undefined);
      throw signal.reason;
    }
    last = value;
    onUpdate(value);
  }
}

function toBlocks(value: ToolReturn): readonly ToolOutputBlock[] {
  if (value === undefined || value === null) return [{ type: 'text', text: 'Done.' }];
  if (typeof value === 'string') return [{ type: 'text', text: value }];
  if (isOutput(value)) return value;
  return [{ type: 'text', text: writtenAsJson(value) }];
}

/** Serializes a return value as JSON. Throws if a part would silently become `{}` or `null`. */
function writtenAsJson(root: unknown): string {
  const text = JSON.stringify(root, function (this: Record<string, unknown>, key, written: unknown) {
    const value = this[key];
    const isOdd = typeof value === 'number' ? !Number.isFinite(value) : typeof value === 'bigint';
    const isBadDate = value instanceof Date && written === null;
    if (isOdd || isBadDate || value instanceof Error) return String(value);
    if (value instanceof Map || value instanceof Set) return [...value];
    if (value === written && isClosed(value)) {
      throw new TypeError(`${key || 'it'} is a ${value.constructor?.name}, which JSON cannot represent`);
    }
    return written;
  });
  if (text === undefined) throw new TypeError(`it is a ${typeof root}`);
  return text;
}

/** Tests for an object whose content is not in its properties, such as a promise or a regular expression. */
function isClosed(value: unknown): value is object {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return !isPlain(value) && Object.keys(value).length === 0;
}

// An empty list is data, not an empty answer. A list whose items only resemble blocks is data too.
function isOutput(value: ToolReturn): value is readonly ToolOutputBlock[] {
  return (
    Array.isArray(value) &&
    value.length > 0 &&
    value.every((part) => toolOutputBlockSchema.safeParse(part).success)
  );
}
