import { hash } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import {
  type AgentState,
  ApprovalRequiredError,
  type Message,
  SessionLeaseError,
  TimeLimitError,
  type Tool,
  type ToolContext,
  type ToolOutputBlock,
  type ToolResultBlock,
  type ToolScope,
  type ToolUseBlock,
  textOf,
  toolUsesOf,
  XError,
} from '@x/core';
import {
  confineWorkspace,
  Deadline,
  errorText,
  jsonText,
  type PendingApproval,
  turnTaker,
  UNCONFIRMED,
} from '@x/core/internal';
import { admitMessages, toolResultBlock } from '@x/core/messages';
import { Interruption } from '../errors/interruption.js';
import { prunePending, setPending } from './approvals.js';
import { around } from './around.js';
import {
  type Allowed,
  approvalsFor,
  authorizeCalls,
  type CallVerdict,
  type Denied,
  inputChecks,
  wrongInput,
} from './clearance.js';
import {
  approvalsOf,
  errorResult,
  errorResultsFor,
  openCalls,
  type ResultMessage,
  resultMessage,
  waitingCalls,
} from './open-calls.js';
import type { RunningCall } from './running-call.js';

/**
 * Runs the open tool calls of the last step and appends their results in the order of the calls. Adjacent read-only tools run concurrently,
 * as do adjacent tools with `parallel`; all others run alone and in order. A tool call that waits for approval holds up later ones, which may
 * depend on it. If the agent's call stops early, tool calls that have begun but not finished get an error result, and finished ones keep their
 * result.
 *
 * @returns `true` if every call has a result, `false` if one waits for approval.
 */
export async function act(call: RunningCall, tools: ReadonlyMap<string, Tool>): Promise<boolean> {
  const { state } = call.scope;
  const uses = openCalls(state.context);
  const results = new Map<ToolUseBlock, Message>();
  /** Adds the available results, in the order of the calls. */
  const settle = (those: readonly ToolUseBlock[]) => {
    call.add(those.flatMap((use) => results.get(use) ?? []));
    for (const use of those) if (results.has(use)) unsettled.delete(use);
  };
  const unsettled = new Set(uses);
  let begun: readonly string[] = [];
  let waits = false;
  const giveWay = turnTaker();
  const check = inputChecks(call);
  try {
    let rest = await authorizeCalls(call, uses, tools, check);
    while (rest.length > 0 && !waits) {
      const batch = nextBatch(rest, call.settings.maxParallelTools);
      const effects = batch.filter(hasEffect).map(({ use }) => use.id);
      if (effects.length > 0) await call.protect(effects);
      // A tool without effects may cause a save, for example by starting a subagent. So record first which calls are about to run.
      else call.mark(batch.map(({ use }) => use.id));
      // `protect` saves the session. If the agent's call was interrupted meanwhile, stop: no tool call of this batch has started.
      call.scope.signal.throwIfAborted();
      begun = batch.map(({ use }) => use.id);
      waits = batch.length === 0 || (await runBatch(call, batch, { uses, results, tools }));
      settle(batch.map(({ use }) => use));
      if (effects.length > 0) await call.protect([]);
      rest = rest.slice(batch.length);
      // Yields to timers and other sessions, even with hundreds of quick calls.
      if (rest.length > 0) await giveWay();
      // The finished calls may have changed what is allowed, for example by leaving plan mode or activating a tool group.
      if (!waits && rest.length > 0 && batch.some(changesSomething)) {
        rest = await authorizeCalls(
          call,
          rest.map(({ use }) => use),
          tools,
          check,
        );
      }
    }
  } catch (error) {
    const { signal } = call.scope;
    const reason =
      signal.reason instanceof Interruption
        ? signal.reason.kind
        : SessionLeaseError.isInstance(signal.reason)
          ? 'lost'
          : 'failed';
    // If the user interrupts, calls that wait for approval also get an error result. After a shutdown or an error, they keep waiting.
    const kept = new Set(signal.aborted && reason === 'interrupted' ? [] : waitingCalls(state));
    call.add(
      [...unsettled].flatMap((use): readonly Message[] => {
        const result = results.get(use);
        if (result) return [result];
        return kept.has(use) ? [] : errorResultsFor([use], reason, begun);
      }),
    );
    prunePending(state);
    throw error;
  }
  prunePending(state);
  return !waits;
}

/** The calls of a step, and their results so far. */
interface Step {
  readonly uses: readonly ToolUseBlock[];
  readonly results: Map<ToolUseBlock, Message>;
  readonly tools: ReadonlyMap<string, Tool>;
}

/**
 * Runs calls concurrently and keeps their results. If one rejects, not only returns an error result, the others are aborted.
 *
 * @returns whether one of them waits for approval.
 */
async function runBatch(
  call: RunningCall,
  batch: readonly (Allowed | Denied)[],
  { uses, results, tools }: Step,
): Promise<boolean> {
  const { state } = call.scope;
  let waits = false;
  const approvals = approvalsOf(
    state,
    uses.filter((use) => !results.has(use)),
  );
  // Without a time limit: it aborts the calls if one rejects, or if the parent aborts.
  const siblings = new Deadline(call.scope.signal);
  // A single call has no siblings to abort.
  const signal = batch.length === 1 ? call.scope.signal : siblings.signal;
  // Every tool, hook and limit of the batch adds a listener, so turn off Node's warning about many listeners.
  if (batch.length > 1) setMaxListeners(0, signal);
  const outcomes = await Promise.allSettled(
    batch.map(async (verdict) => {
      const result = await runOne(call, verdict, tools, signal).catch((error: unknown) => {
        siblings.abort(error);
        throw error;
      });
      const mine = approvals.get(verdict.use) ?? [];
      if (!ApprovalRequiredError.isInstance(result)) {
        results.set(verdict.use, result);
        spend(state, mine);
        return;
      }
      waits = true;
      spend(state, mine);
      setPending(state, [
        ...(state.permissionContext.pending ?? []),
        ...approvalsFor(verdict.use, result.calls),
      ]);
    }),
  );
  siblings.stop();
  if (outcomes.some(({ status }) => status === 'rejected')) throw siblings.signal.reason;
  return waits;
}

/** Removes the approvals that an attempt to run a call has used, so that a later identical call cannot reuse them. */
function spend(state: AgentState, approvals: readonly PendingApproval[]): void {
  const { pending = [] } = state.permissionContext;
  if (approvals.length > 0)
    setPending(
      state,
      pending.filter((entry) => !approvals.includes(entry)),
    );
}

async function runOne(
  call: RunningCall,
  verdict: Allowed | Denied,
  tools: ReadonlyMap<string, Tool>,
  signal: AbortSignal,
): Promise<Message | ApprovalRequiredError> {
  const { settings, capabilities } = call;
  call.scope.signal.throwIfAborted();
  const { use } = verdict;
  const startedAt = performance.now();
  if (verdict.type === 'deny') {
    const denied = errorResult(use, verdict.message);
    call.emit({ type: 'tool.call', call: use });
    call.emit({ type: 'tool.result', result: denied.content[0], durationMs: performance.now() - startedAt });
    return denied;
  }
  const { tool, edited, decisions, confine } = verdict;
  // Hooks are confined like the tool, so that a hook cannot bypass a rule on files.
  const workspace = confine ? confineWorkspace(call.scope.workspace, confine) : call.scope.workspace;
  const scope: ToolScope = { ...call.scope, signal, tool, workspace };
  call.emit({ type: 'tool.call', call: edited ?? use });
  // Waits while the reader of the events is too far behind.
  await call.room();
  const progress = progressOf(call, use);
  const { runtime, state, storage, log } = scope;
  const given = {
    ...{ runtime, state, storage, log, signal },
    workspace: call.filesFor(scope, confine),
    deniedFiles: tool?.keepsFiles
      ? (await Promise.all(capabilities.map((each) => each.deniesFiles?.(scope) ?? []))).flat()
      : [],
    idempotencyKey: idempotencyKeyOf(call, use),
    fence: call.options.turn.fence,
    onUpdate: progress.update,
    decisions,
  };
  const limit =
    tool?.timeoutMs === undefined
      ? (['limits.toolMs', settings.limits.toolMs] as const)
      : (['timeoutMs', tool.timeoutMs] as const);
  const run = around(
    capabilities,
    'aroundTool',
    scope,
    async (argument) =>
      tool === undefined
        ? errorResult(
            argument,
            `There is no tool named "${use.name}". Available: ${[...tools.keys()].join(', ') || 'none'}.`,
          ).content[0]
        : runTool(tool, { ...given, call: argument }, limit, settings.limits.interruptMs),
    settings.limits,
  );
  try {
    // Copied, because a tool may mutate its input. The conversation keeps what the model wrote.
    const asked = { ...use, input: JSON.parse(jsonText((edited ?? use).input)) };
    const message = checkedResult(use, verdict, await run(asked).finally(progress.stop));
    const [result] = message.content;
    call.emit({ type: 'tool.result', result, durationMs: performance.now() - startedAt });
    return message;
  } catch (error) {
    if (ApprovalRequiredError.isInstance(error)) return error;
    throw error;
  }
}

/** Returns a hash of a call's position in its session, because call ids alone may repeat. */
function idempotencyKeyOf({ scope, options }: RunningCall, use: ToolUseBlock): string {
  const step = scope.state.context.findLast(({ role }) => role === 'assistant');
  const place = step && [step.id, toolUsesOf(step).indexOf(use)];
  const text = JSON.stringify([options.session.key.toString(), place, use.id]);
  return hash('sha256', text);
}

/** Validates the result of a tool, or the result that a hook returned instead. If it is invalid, the model gets an error result. */
function checkedResult(use: ToolUseBlock, { edited, tool }: Allowed, answer: ToolResultBlock): ResultMessage {
  const noted = (result: ToolResultBlock) => resultMessage(edited ? withNote(result, edited) : result);
  try {
    // Copied, because the tool may still mutate its blocks.
    const output = answer.output.map((block) => ({ ...block }));
    // A text in the result marks unconfirmed memory. A later compaction may cut this text out, so also set the origin to `server`, which
    // means untrusted.
    const isUnconfirmed = textOf(output).includes(UNCONFIRMED);
    const origin = isUnconfirmed ? ({ origin: 'server' } as const) : {};
    const message = noted({ ...answer, ...origin, output, toolUseId: use.id, toolName: use.name });
    return admitMessages([message], 'result')[0] as ResultMessage;
  } catch (error) {
    const text = `The tool returned an invalid result: ${errorText(error)}`;
    return noted({ ...toolResultBlock(use, unsure(tool, text), true), ...originOf(tool) });
  }
}

/** Reports a tool's progress until `stop`. While the reader of the events is too far behind, only the latest update is kept. */
function progressOf(call: RunningCall, { id: toolUseId, name }: ToolUseBlock) {
  let latest: readonly ToolOutputBlock[] | undefined;
  let isOver = false;
  const report = () => {
    if (latest && !isOver) call.emit({ type: 'tool.progress', toolUseId, name, output: latest });
    latest = undefined;
  };
  return {
    update(output: readonly ToolOutputBlock[]) {
      const isWaiting = latest !== undefined;
      latest = output;
      const room = call.room();
      if (room === undefined) report();
      else if (!isWaiting) void room.then(report);
    },
    stop() {
      isOver = true;
    },
  };
}

/**
 * Adds a note about an edited input to the result. The call itself is not changed, because providers sign their tool calls and reject
 * changed ones.
 */
function withNote(result: ToolResultBlock, edited: ToolUseBlock): ToolResultBlock {
  const text = `[The user changed the input of this call before it ran, to ${JSON.stringify(edited.input)}]`;
  return { ...result, output: [{ type: 'text', text }, ...result.output] };
}

/** Returns the next batch: one call, or several that may run concurrently; empty if the first call must wait. */
function nextBatch(rest: readonly CallVerdict[], size: number): readonly (Allowed | Denied)[] {
  const [first] = rest;
  if (first === undefined || first.type === 'wait') return [];
  const kind = concurrencyOf(first);
  if (kind === undefined) return [first];
  const end = rest.findIndex((verdict) => concurrencyOf(verdict) !== kind);
  return rest.slice(0, Math.min(size, end === -1 ? rest.length : end)) as readonly Allowed[];
}

function originOf(tool: Tool | undefined): Pick<ToolResultBlock, 'origin'> {
  const known = tool?.origin ?? (tool?.sessionOnly ? 'agent' : tool?.paths && 'file');
  return known === undefined ? {} : { origin: known };
}

/** Returns the kind of calls with which this one may run concurrently; `undefined` if it must run alone. */
function concurrencyOf(verdict: CallVerdict): 'readOnly' | 'parallel' | undefined {
  const tool = verdict.type === 'run' ? verdict.tool : undefined;
  if (tool?.readOnly) return 'readOnly';
  return tool?.parallel ? 'parallel' : undefined;
}

/** Returns whether a call changes more than the session's own state. */
function hasEffect(verdict: CallVerdict): boolean {
  return verdict.type === 'run' && changesTheWorld(verdict.tool);
}

function changesTheWorld(tool: Tool | undefined): boolean {
  return tool !== undefined && !tool.readOnly && !tool.sessionOnly;
}

/** Warns the model that a call ran, but its effect is unknown. */
function unsure(tool: Tool | undefined, reason: string): string {
  if (!changesTheWorld(tool)) return reason;
  return `${reason} The call ran and may have taken effect. Check before you repeat it.`;
}

/** Returns whether an error leaves the effect unknown: a timeout, or a lost or invalid answer. */
function leavesOpen(error: unknown): boolean {
  return (
    TimeLimitError.isInstance(error) ||
    (XError.isInstance(error) && 'outcome' in error && error.outcome === 'unknown')
  );
}

/** Returns whether a call may change anything, also the session's own state. */
function changesSomething(verdict: CallVerdict): boolean {
  return verdict.type === 'run' && !verdict.tool?.readOnly;
}

/**
 * Runs one tool, and turns every outcome into a result that the model can act on: invalid input, timeouts and thrown errors become error
 * results. Rejects only if its signal aborts, or if the call needs approval.
 */
async function runTool(
  tool: Tool,
  { signal: parent, ...context }: ToolContext,
  [limit, timeoutMs]: readonly [limit: string, ms: number],
  interruptMs: number,
): Promise<ToolResultBlock> {
  const { call } = context;
  const deadline = new Deadline(parent);
  const { signal } = deadline;
  deadline.start(call.name, limit, timeoutMs);
  try {
    // After an abort, a tool gets no more time, because it may ignore its signal. One that limits its own time (`timeoutMs: 0`) gets
    // `interruptMs` (0: no limit) to stop and return what it has.
    const graceMs = tool.timeoutMs === 0 ? interruptMs || Number.POSITIVE_INFINITY : 0;
    const output = await deadline.race(tool.run(call.input, { ...context, signal }), graceMs);
    // What a tool returns after an abort is incomplete, so it is marked as an error.
    return { ...toolResultBlock(call, output, parent.aborted), ...originOf(tool) };
  } catch (error) {
    parent.throwIfAborted();
    if (ApprovalRequiredError.isInstance(error)) throw error;
    // Tools report an abort in different ways, so the reason of the signal is used.
    const thrown: unknown = signal.aborted ? signal.reason : error;
    const text = leavesOpen(thrown) ? unsure(tool, errorText(thrown)) : wrongInput(thrown);
    return { ...toolResultBlock(call, text, true), ...originOf(tool) };
  } finally {
    deadline.stop();
  }
}
