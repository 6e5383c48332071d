import * as z from 'zod';
import { parseWith } from '../config/parse.js';
import { InvalidInputError } from '../errors/invalid-input-error.js';
import { isObject, type JsonObject, jsonFault } from '../lib/json.js';
import { jsonObjectSchema, jsonValueSchema } from '../lib/json-schemas.js';
import { checkMessages } from '../messages/check-messages.js';
import { type Message, textOf } from '../messages/message.js';

/** Format version of a stored state. This package writes it, and reads no other. */
export const AGENT_STATE_VERSION = 1;

/**
 * Permission modes for tool calls that no rule matches. `default` asks for everything except reads. `accept_edits` also allows file edits.
 * `explore` denies everything except reads, even if a rule allows it. `bypass` allows everything. `dont_ask` denies instead of asking.
 */
export const PERMISSION_MODES = ['default', 'accept_edits', 'explore', 'bypass', 'dont_ask'] as const;

const todoSchema = z.strictObject({
  content: z.string().min(1),
  status: z.enum(['pending', 'in_progress', 'completed']),
});
const ruleSchema = z.strictObject({
  /** A tool's name, or a pattern of names. */
  tool: z.string().min(1),
  /** A pattern for its main argument. */
  match: z.string().optional(),
  /** Patterns by argument name. All of them must match. */
  input: z.record(z.string(), z.string()).optional(),
  /** The `fingerprint` that the tool must have. A saved rule does not apply to a tool that has changed since. */
  fingerprint: z.string().optional(),
});
const pendingApprovalSchema = z.strictObject({
  /** Unique id of the approval. Tool calls of one conversation may share an id, approvals do not. */
  id: z.string().min(1),
  toolUseId: z.string(),
  /** Hash of the call as it was shown. A decision applies only to this call. */
  digest: z.string().optional(),
  /** The `fingerprint` of the tool when approval was requested. */
  fingerprint: z.string().optional(),
  /** The subagent's call that needs approval, if the tool call waits for a subagent. */
  call: z
    .strictObject({ agentId: z.string(), id: z.string(), name: z.string(), input: jsonValueSchema })
    .optional(),
  /** ISO 8601, UTC. */
  askedAt: z.string(),
  reason: z.string().optional(),
  /** A rule that would allow similar calls. A decision with `always: true` saves it. */
  suggestion: ruleSchema.optional(),
  /** A decision that is applied once all earlier calls are decided. */
  decision: z
    .discriminatedUnion('type', [
      z.strictObject({ type: z.literal('approve') }),
      z.strictObject({ type: z.literal('edit'), input: jsonValueSchema }),
      z.strictObject({ type: z.literal('deny'), message: z.string() }),
    ])
    .optional(),
});
const permissionContextSchema = z.strictObject({
  /** Default: the mode from the agent's configuration. */
  mode: z.enum(PERMISSION_MODES).optional(),
  allow: z.array(ruleSchema).default([]),
  deny: z.array(ruleSchema).default([]),
  ask: z.array(ruleSchema).default([]),
  /** The open tool calls that a human must decide on. */
  pending: z.array(pendingApprovalSchema).optional(),
});
const planModeContextSchema = z.strictObject({
  active: z.boolean().default(false),
  planFile: z.string().optional(),
});
const tasksContextSchema = z.strictObject({ todos: z.array(todoSchema).default([]) });
const toolContextSchema = z.strictObject({
  activatedGroups: z.array(z.string()).default([]),
  /** Groups that are active by default and were switched off. */
  deactivatedGroups: z.array(z.string()).optional(),
});

const headSchema = z.strictObject({
  schemaVersion: z.literal(AGENT_STATE_VERSION),
  sessionId: z.string().min(1),
  userId: z.string().min(1).optional(),
  tenantId: z.string().min(1).optional(),
  title: z.string().optional(),
  metadata: jsonObjectSchema.optional(),
  activeCall: z
    .strictObject({
      callId: z.string(),
      startedAt: z.string(),
      /** The tool calls that may have started since the last commit. Other calls of this model answer have not started. */
      began: z.array(z.string()).optional(),
    })
    .optional(),
  permissionContext: permissionContextSchema.prefault({}),
  planModeContext: planModeContextSchema.prefault({}),
  tasksContext: tasksContextSchema.prefault({}),
  toolContext: toolContextSchema.prefault({}),
  extensions: z.record(z.string(), jsonObjectSchema).prefault({}),
});
const contextSchema = z.object({ context: z.array(z.unknown()) });

/** One item of the agent's todo list. */
export type Todo = z.infer<typeof todoSchema>;
/** A rule about tool calls: which tool, and with which arguments. */
export type PermissionRule = z.infer<typeof ruleSchema>;
/** A tool call that waits for a human's decision. */
export type PendingApproval = z.infer<typeof pendingApprovalSchema>;
/** A session's permission mode and rules, and the calls that wait for approval. */
export type PermissionContext = z.infer<typeof permissionContextSchema>;
/** State of plan mode, and the path of the plan. */
export type PlanModeContext = z.infer<typeof planModeContextSchema>;
/** The agent's todo list. */
export type TasksContext = z.infer<typeof tasksContextSchema>;
/** Groups of tools that were switched on or off. */
export type ToolGroupContext = z.infer<typeof toolContextSchema>;
/** A call that started and has not ended. Its process may have crashed. */
export type ActiveCall = NonNullable<z.infer<typeof headSchema>['activeCall']>;

/**
 * State of an agent in one session: the current conversation and the state of its capabilities. `JSON.stringify`
 * serializes all of it. Stores save `head()` and the context separately.
 *
 * @example
 * ```ts
 * const state = AgentState.create({ sessionId: 's-001' });
 * state.contextMutable().push(userMessage('Hello'));
 * const copy = AgentState.fromJSON(JSON.parse(JSON.stringify(state)));
 * ```
 */
export class AgentState {
  declare readonly sessionId: string;
  declare readonly userId: string | undefined;
  declare readonly tenantId: string | undefined;
  /** Title of the session in listings. If it is missing, `Session.commit` derives it from the first request. */
  declare title: string | undefined;
  /** Metadata that the application sets. Listings show it and can filter by it. */
  declare metadata: JsonObject | undefined;
  /** Set while a call runs. If the process crashed during the call, it is still set when the state is loaded. */
  declare activeCall: ActiveCall | undefined;
  declare permissionContext: PermissionContext;
  declare planModeContext: PlanModeContext;
  declare tasksContext: TasksContext;
  declare toolContext: ToolGroupContext;
  /**
   * State of capabilities, by capability name. Compaction never changes it. If two processes changed the session and their changes are
   * merged, each extension comes from one of them. Only the numbers in its `counters` object are added up.
   */
  declare readonly extensions: Record<string, JsonObject>;
  #context: Message[];

  private constructor(head: z.infer<typeof headSchema>, context: readonly Message[]) {
    // Assigns all fields in the order of the schema.
    Object.assign(this, pick(head));
    this.#context = [...context];
  }

  /** Creates an empty state. */
  static create(identity: {
    readonly sessionId: string;
    readonly userId?: string | undefined;
    readonly tenantId?: string | undefined;
  }): AgentState {
    const head = parseWith(headSchema, { schemaVersion: AGENT_STATE_VERSION, ...identity }, 'AgentState');
    return new AgentState(head, []);
  }

  /**
   * Parses the output of `JSON.stringify(state)`.
   *
   * @throws {InvalidInputError} with the path of every invalid field.
   */
  static fromJSON(json: unknown): AgentState {
    const { context: messages, ...stored } = asRecord(json);
    const head = parseWith(headSchema, ofThisVersion(stored), 'AgentState');
    const { context } = parseWith(contextSchema, { context: messages }, 'AgentState');
    checkMessages(context, 'AgentState', 'context');
    return new AgentState(head, context);
  }

  /**
   * Parses a head and a context that the store has already validated.
   *
   * @throws {InvalidInputError} see {@link AgentState.fromJSON}.
   */
  static fromParts(head: unknown, context: readonly Message[]): AgentState {
    return new AgentState(parseWith(headSchema, ofThisVersion(asRecord(head)), 'AgentState'), context);
  }

  /** The conversation that the model sees, after compactions. */
  get context(): readonly Message[] {
    return this.#context;
  }

  /** The writable list behind {@link AgentState.context}. Replace messages, never change one in place. */
  contextMutable(): Message[] {
    return this.#context;
  }

  /** Text of the current compaction summary, or `undefined`. */
  get summary(): string | undefined {
    const message = this.#context.findLast((candidate) => candidate.kind === 'summary');
    return message && textOf(message);
  }

  /**
   * Validates everything except the messages.
   *
   * @throws {InvalidInputError} with the path of every invalid field.
   */
  check(): void {
    const texts = fieldTexts(this);
    checkFields(JSON.parse(headText(texts)) as JsonObject, texts);
  }

  /** The state without its context, as plain JSON. */
  head(): JsonObject {
    return JSON.parse(headText(fieldTexts(this))) as JsonObject;
  }

  toJSON(): JsonObject {
    return { ...this.head(), context: this.#context as never };
  }
}

const { schemaVersion: _version, ...fields } = headSchema.shape;
const FIELDS = Object.keys(fields) as (keyof typeof fields)[];

/** Returns the fields of a head, including undefined ones. */
function pick(head: Readonly<Partial<Record<keyof typeof fields, unknown>>>): Record<string, unknown> {
  const picked: Record<string, unknown> = {};
  for (const name of FIELDS) picked[name] = head[name];
  return picked;
}

/** @throws {InvalidInputError} at `schemaVersion` when it is not the version that this package reads. */
function ofThisVersion(state: Record<string, unknown>): Record<string, unknown> {
  const { schemaVersion: version } = state;
  if (version === AGENT_STATE_VERSION) return state;
  const found = JSON.stringify(version) ?? 'missing';
  const message = `is ${found}, but this release of @x/core reads only version ${AGENT_STATE_VERSION}; update @x/core if a newer release wrote it`;
  throw new InvalidInputError('AgentState', [{ path: 'schemaVersion', message }]);
}

function asRecord(json: unknown): Record<string, unknown> {
  if (isObject(json)) return { ...json };
  throw new InvalidInputError('AgentState', [{ path: '', message: 'must be a JSON object' }]);
}

/** Returns the JSON text of each field of `state.head()`. */
export function fieldTexts(state: AgentState): ReadonlyMap<string, string> {
  const head = { schemaVersion: AGENT_STATE_VERSION, ...pick(state) };
  const fault = jsonFault(head);
  if (fault !== undefined) throw new InvalidInputError('AgentState', [fault]);
  const texts = new Map<string, string>();
  for (const [name, value] of Object.entries(head))
    if (value !== undefined) texts.set(name, JSON.stringify(value));
  return texts;
}

/** Joins the texts of the fields to the text of the head. */
export function headText(texts: ReadonlyMap<string, string>): string {
  let text = '';
  for (const [name, value] of texts) text += `${text && ','}"${name}":${value}`;
  return `{${text}}`;
}

const fieldSchemas = FIELDS.map((name) => [name, z.strictObject({ [name]: fields[name] })] as const);

/** Validates only the fields whose text differs from `checked`, because validating all fields at every commit would cost more. */
export function checkFields(
  head: JsonObject,
  texts: ReadonlyMap<string, string>,
  checked: ReadonlyMap<string, string> = new Map(),
): void {
  for (const [name, schema] of fieldSchemas)
    if (texts.get(name) !== checked.get(name)) parseWith(schema, { [name]: head[name] }, 'AgentState');
}

const TODO_MARKS: Readonly<Record<Todo['status'], string>> = {
  pending: ' ',
  in_progress: '>',
  completed: 'x',
};

/** Renders a todo list for models and people, one item per line: `[x] Read the tests`. */
export function renderTodos(todos: readonly Todo[]): string {
  return todos.map(({ content, status }) => `[${TODO_MARKS[status]}] ${content}`).join('\n');
}
