import {
  type AgentState,
  InvalidInputError,
  type Message,
  type Model,
  type ModelRequest,
  type Usage,
} from '@x/core';
import { callable, having, PERMISSION_MODES, type PermissionContext, parseWith } from '@x/core/internal';
import * as z from 'zod';
import { type CallLimits, callLimitsSchema } from '../agent/limits.js';

/** Settings of one step. Omitted settings are those of the agent. */
export interface StepControl
  extends Pick<
    ModelRequest,
    'toolChoice' | 'reasoningEffort' | 'stopSequences' | 'providerOptions' | 'maxOutputTokens' | 'temperature'
  > {
  readonly model?: Model | undefined;
  /** Names of the agent's tools that the model may call in this step. Default: all. Calls of other tools are not run. */
  readonly tools?: readonly string[] | undefined;
}

/** The progress of a call between two steps. */
export interface CallProgress {
  /** Number of the step, from 1: the next one for `prepareStep`, the last one for `stopWhen`. */
  readonly step: number;
  /** Tokens of the call so far. */
  readonly usage: Usage;
  readonly state: AgentState;
  /** The last answer of the model in this call. */
  readonly message: Message | undefined;
}

/** Settings that differ for one call. */
export interface CallControl extends StepControl {
  /** Maximum number of reasoning steps of the call. */
  readonly maxIterations?: number | undefined;
  /**
   * Time limits of this call in milliseconds, which override those of the agent: for the model, tools, hooks, the wait for the session, and
   * the whole call. 0 or `Infinity` for no limit.
   */
  readonly limits?: CallLimits | undefined;
  /** Sets the session's permission mode when the call begins. */
  readonly permissionMode?: PermissionContext['mode'];
  /** Called if the call must wait for another call of its session. */
  readonly onWait?: (() => void) | undefined;
  /** Ends the call with `stop_condition` if it returns true after a step that called tools. */
  readonly stopWhen?: ((progress: CallProgress) => boolean | Promise<boolean>) | undefined;
  /** Returns settings of one step that override those of the call. */
  readonly prepareStep?:
    | ((progress: CallProgress) => StepControl | undefined | Promise<StepControl | undefined>)
    | undefined;
}

const stepShape = {
  model: z.optional(having<Model>('generate', 'a model')),
  tools: z.array(z.string()).optional(),
  toolChoice: z
    .union([z.enum(['auto', 'none', 'required']), z.strictObject({ tool: z.string() })])
    .optional(),
  reasoningEffort: z.string().min(1).optional(),
  stopSequences: z.array(z.string().min(1)).optional(),
  providerOptions: z.record(z.string(), z.record(z.string(), z.json())).optional(),
  maxOutputTokens: z.int().min(1).optional(),
  temperature: z.number().min(0).optional(),
};

const stepSchema = z.strictObject(stepShape);

const callSchema = z.strictObject({
  ...stepShape,
  maxIterations: z.int().min(1).optional(),
  limits: callLimitsSchema.optional(),
  permissionMode: z.enum(PERMISSION_MODES).optional(),
  onWait: z.optional(callable<never>()),
  stopWhen: z.optional(callable<never>()),
  prepareStep: z.optional(callable<never>()),
});

/** Keys that other code uses and validates further. */
const elsewhere = {
  id: z.string().min(1),
  signal: z.custom<AbortSignal>((value) => value instanceof AbortSignal, 'must be an AbortSignal'),
  decisions: z.unknown(),
  output: z.unknown(),
  outputRepairs: z.unknown(),
};

const optionsSchema = z.strictObject({ ...callSchema.shape, ...elsewhere }).partial();

/**
 * @param known Names of the tools that the agent has.
 * @throws {InvalidInputError} naming the path of every bad field.
 */
export function callControl(options: CallControl, known: ReadonlySet<string>): CallControl {
  const { id, signal, decisions, output, outputRepairs, ...control } = parseWith(
    optionsSchema,
    options,
    'call options',
  );
  refuseUnknownTools(control as CallControl, known, 'call options');
  return control as CallControl;
}

/** @throws {InvalidInputError} for unknown tools, and for a `toolChoice` that is not in `tools`. */
function refuseUnknownTools(
  { tools, toolChoice }: StepControl,
  known: ReadonlySet<string>,
  subject: string,
): void {
  const names = (tools ?? []).map((name, index) => [`tools[${index}]`, name, known] as const);
  const chosen = typeof toolChoice === 'object' ? toolChoice.tool : undefined;
  const choice = chosen === undefined ? [] : [['toolChoice.tool', chosen, new Set(tools ?? known)] as const];
  const issues = [...names, ...choice].flatMap(([path, name, among]) => {
    const has = [...among].join(', ') || 'none';
    return among.has(name)
      ? []
      : [{ path, message: `there is no tool "${name}" to choose; available: ${has}` }];
  });
  if (issues.length > 0) throw new InvalidInputError(subject, issues);
}

/**
 * Returns the settings of the next step: those that `prepareStep` returned, which override those of the call.
 *
 * @param known Names of the tools that the agent has.
 * @throws {InvalidInputError} naming the path of every invalid field.
 */
export function stepControl(
  { prepareStep: _, ...call }: CallControl,
  own: StepControl | undefined,
  known: ReadonlySet<string>,
): StepControl {
  if (own === undefined) return call;
  const subject = 'result of prepareStep';
  const control = { ...call, ...parseWith(stepSchema, own, subject) };
  refuseUnknownTools(control, known, subject);
  return control;
}
