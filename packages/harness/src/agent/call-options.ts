import {
  type CompactionCost,
  type FinishReason,
  InvalidInputError,
  type JsonObject,
  type Message,
  type PendingCall,
  type RuntimeContext,
  type StandardSchema,
  type StopReason,
  type Usage,
  userMessage,
} from '@x/core';
import { fromClient, isObject, jsonValueSchema, parseWith } from '@x/core/internal';
import { admitMessages } from '@x/core/messages';
import * as z from 'zod';
import type { EventPlace } from '../lib/event-journal.js';
import type { CallControl } from '../loop/control.js';
import { type OutputSchema, RequestedOutput } from '../output/requested-output.js';

const decisionSchema = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('approve'),
    /**
     * Also allows later calls of the session by a rule: `true` for the suggested rule of the pending call, or a rule such as
     * `execute(npm test*)`.
     */
    always: z.union([z.boolean(), z.string().min(1)]).optional(),
  }),
  /** Runs the call with this input. The model sees the new input. */
  z.strictObject({ type: z.literal('edit'), input: jsonValueSchema }),
  /** Denies the call. The model reads the reason. */
  z.strictObject({ type: z.literal('deny'), reason: z.string().optional() }),
]);

const decisionsSchema = z.record(z.string(), decisionSchema);

/** A human's decision on a tool call that waits for approval. */
export type Decision = z.output<typeof decisionSchema>;

/** Decisions by approval id. */
export type Decisions = Readonly<Record<string, Decision>>;

/** @throws {InvalidInputError} naming the path of every bad field. */
export function parseDecisions(decisions: unknown): Decisions {
  fromClient(() => parseWith(decisionsSchema, decisions, 'decisions'));
  // Do not return the parsed copy: it lacks the key `__proto__`, which must be rejected like any other id that is not pending.
  return decisions as Decisions;
}

/** The input of a call: text, a message, or several messages. */
export type CallInput = string | Message | readonly Message[];

/** Options of one call, in addition to the agent's settings. */
export interface CallOptions extends CallControl {
  /**
   * Identifies the call, so that any process can repeat it safely: it runs at most once. If the call has ended, the repetition returns its
   * first reply. If not, the call continues. If another call answered its message, the repetition returns that reply with `superseded`.
   * Default: the id of the last message, if you pass messages.
   */
  readonly id?: string;
  /** Interrupts the call when aborted, as `agent.interrupt` does. */
  readonly signal?: AbortSignal;
  /**
   * Decisions on pending tool calls, by approval id. Calls without a decision stay pending, or are denied if the call has new
   * input.
   */
  readonly decisions?: Decisions;
  /**
   * Schema of the answer, which must be an object: zod, another Standard Schema that converts to JSON Schema, or plain JSON Schema. Models
   * with `structuredOutput` get it as response format, all others as the tool `final_answer`.
   */
  readonly output?: StandardSchema | JsonObject;
  /** Maximum number of attempts to correct an invalid answer. Default 2. */
  readonly outputRepairs?: number;
}

/** {@link CallOptions} of a call whose answer has the type `Output`. */
export type OutputOptions<Output> = CallOptions & { readonly output: OutputSchema<Output> };

/** An event, or the id with which {@link serverSentEvents} sent it. */
export type EventCursor = string | EventPlace;

export const cursorSchema = z.preprocess((given) => {
  if (typeof given !== 'string') return given;
  const [callId, seq] = given.split(':');
  return { callId, seq: Number(seq) };
}, z.object({ callId: z.string(), seq: z.int().min(0) }).optional());

const SUBJECT = 'input of the call';

const repairsSchema = z.int().min(0).default(2);

/**
 * Converts the input of a call to messages. They are copies, so the caller cannot change them later.
 *
 * @throws {InvalidInputError} with the path of an invalid field. Empty messages are invalid, because providers would reject them in every
 * later call.
 */
export function toMessages(input: CallInput, id?: string): readonly Message[] {
  const given =
    typeof input === 'string' ? [userMessage(input, id === undefined ? {} : { id })] : asList(input);
  const admitted = fromClient(() => admitMessages(given, SUBJECT));
  // A getter may return another value when it is copied, so the copy is validated too.
  const messages =
    typeof input === 'string'
      ? admitted
      : fromClient(() => admitMessages(structuredClone(admitted), SUBJECT));
  for (const [index, { content, role }] of messages.entries()) {
    const at = messages.length > 1 ? `[${index}]` : '';
    const isEmpty = content.every((block) => block.type === 'text' && block.text.trim() === '');
    if (isEmpty) throw invalidInput(at, 'must not be empty');
    const call = role === 'assistant' ? -1 : content.findIndex(({ type }) => type === 'tool_use');
    if (call >= 0)
      throw invalidInput(
        `[${index}].content[${call}]`,
        `is a tool call, which a message with the role ${role} cannot contain`,
      );
  }
  return messages;
}

function asList(input: Message | readonly Message[]): readonly Message[] {
  if (Array.isArray(input)) return input as readonly Message[];
  if (typeof input === 'object' && input !== null && 'role' in input) return [input];
  throw invalidInput('', 'must be text, a message, or a list of messages');
}

function invalidInput(path: string, message: string): InvalidInputError {
  return new InvalidInputError(SUBJECT, [{ path, message }], { isFromClient: true });
}

/** Parses the input and options of a call. If no `id` is given, the id of the last message becomes the call id. */
export function givenTo(input: CallInput, options: CallOptions = {}) {
  checkOptions(options);
  const messages = toMessages(input, options.id);
  const id = options.id ?? (typeof input === 'string' ? undefined : messages.at(-1)?.id);
  return { messages, options: id === undefined ? options : { ...options, id } };
}

/** @throws {InvalidInputError} if the options are not an object, for example if a session id was passed. */
export function checkOptions(options: CallOptions): void {
  if (isObject(options)) return;
  throw new InvalidInputError('call options', [{ path: '', message: `must be an object, not ${options}` }]);
}

/** @throws {InvalidInputError} if the context is not a RuntimeContext, for example if a session id was passed. */
export function checkContext(context: RuntimeContext): void {
  if (typeof context === 'object' && context !== null && 'extra' in context) return;
  throw new InvalidInputError('context of the call', [
    { path: '', message: 'must be a RuntimeContext: RuntimeContext.of({ userId, sessionId })' },
  ]);
}

/**
 * Prepares the requested output, if the options have one.
 *
 * @throws {InvalidInputError} if the schema cannot be converted to JSON Schema.
 */
export function requestedOutput(
  { output, outputRepairs }: CallOptions,
  toolNames: ReadonlySet<string>,
): RequestedOutput | undefined {
  const repairs = parseWith(repairsSchema, outputRepairs, 'outputRepairs');
  return output === undefined ? undefined : new RequestedOutput(output, toolNames, repairs);
}

/** Returns a signal that aborts when either signal aborts. */
export function firstOf(left: AbortSignal | undefined, right: AbortSignal | undefined) {
  return left && right ? AbortSignal.any([left, right]) : (left ?? right);
}

/** The outcome of a call. */
export interface Reply {
  readonly sessionId: string;
  /** Text of the last answer, including all parts if it was cut off and continued. Empty if the model returned no text. */
  readonly text: string;
  /** The last answer; `undefined` if it was empty or the call stopped before one. */
  readonly message: Message | undefined;
  /** The messages that this call added, including the user's and tool results; none for a repeated call. */
  readonly messages: readonly Message[];
  /** Why the model stopped in the last step. */
  readonly finishReason?: FinishReason | undefined;
  /** The provider's ids of this call's answers, if it provides any. */
  readonly responseIds: readonly string[];
  /** Tokens of all model calls of this call, without retries. */
  readonly usage: Usage;
  /** Cost and savings of the compactions in this call, in addition to `usage`. Omitted if there were none. */
  readonly compaction?: CompactionCost | undefined;
  readonly stopReason: StopReason;
  /** The tool calls that wait for a human. Empty unless the stop reason is `permission_required`. */
  readonly pendingCalls: readonly PendingCall[];
  /** Reasoning steps taken. */
  readonly steps: number;
  /** The validated answer, if the call requested `output` and completed. */
  readonly output?: unknown;
}

/** Completes a reply. The defaults are those of a call that was interrupted before it started. */
export function replyOf(known: Partial<Reply> & Pick<Reply, 'sessionId'>): Reply {
  return {
    text: '',
    message: undefined,
    messages: [],
    responseIds: [],
    usage: { inputTokens: 0, outputTokens: 0 },
    stopReason: 'interrupted',
    pendingCalls: [],
    steps: 0,
    ...known,
  };
}

/** The outcome of a call with `output`. It has a validated answer if and only if the call completed. */
export type OutputReply<Output> = Reply &
  (
    | { readonly stopReason: 'completed'; readonly output: Output }
    | { readonly stopReason: Exclude<StopReason, 'completed'>; readonly output?: undefined }
  );
