import { randomUUID } from 'node:crypto';
import {
  type AgentState,
  ApprovalRequiredError,
  checkMessages,
  confineWorkspace,
  Deadline,
  errorText,
  type Message,
  type PendingApproval,
  type Tool,
  type ToolOutputBlock,
  type ToolResultBlock,
  type ToolScope,
  type ToolUseBlock,
  toolResultBlock,
} from '@x/core';
import { Interruption } from '../errors/interruption.js';
import { prunePending, setPending } from './approvals.js';
import { around } from './around.js';
import {
  type Allowed,
  approvalsFor,
  authorizeCalls,
  type CallVerdict,
  type Denied,
  wrongInput,
} from './clearance.js';
import { approvalsOf, errorResultsFor, openCalls, waitingCalls } from './open-calls.js';
import type { RunningCall } from './running-call.js';

/**
 * Runs the open tool calls of the last step and appends their results in the order of the calls. Read-only tools that
 * stand side by side run in parallel, all others alone and in order. A call that a human must decide on holds up those
 * behind it, which may build on it. An interruption closes what has not finished and keeps what has.
 *
 * @returns whether every call has its result now: not while one waits for a human.
 */
export async function act(call: RunningCall, tools: ReadonlyMap<string, Tool>): Promise<boolean> {
  const { state } = call.scope;
  const uses = openCalls(state.context);
  const results = new Map<ToolUseBlock, ToolResultBlock>();
  let waits = false;
  try {
    let rest = await authorizeCalls(call, uses, tools);
    while (rest.length > 0 && !waits) {
      const batch = nextBatch(rest, call.settings.maxParallelTools);
      waits = batch.length === 0;
      const approvals = approvalsOf(
        state,
        uses.filter((use) => !results.has(use)),
      );
      await Promise.all(
        batch.map(async (verdict) => {
          const result = await runOne(call, verdict, tools);
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
      rest = rest.slice(batch.length);
      // The calls that ran may have changed what is allowed: plan mode, a tool group.
      if (!waits && rest.length > 0 && batch.some(changesSomething)) {
        rest = await authorizeCalls(
          call,
          rest.map(({ use }) => use),
          tools,
        );
      }
    }
  } catch (error) {
    const { signal } = call.scope;
    const reason = signal.reason instanceof Interruption ? signal.reason.kind : 'interrupted';
    // An interruption gives up the whole step; a shutdown or an error keeps the calls that wait for a human.
    const kept = new Set(signal.aborted && reason === 'interrupted' ? [] : waitingCalls(state));
    call.add(
      uses.flatMap((use): readonly Message[] => {
        const result = results.get(use);
        if (result) return [resultMessage(result)];
        return kept.has(use) ? [] : errorResultsFor([use], reason);
      }),
    );
    prunePending(state);
    throw error;
  }
  call.add(
    uses.flatMap((use) => {
      const result = results.get(use);
      return result ? [resultMessage(result)] : [];
    }),
  );
  prunePending(state);
  return !waits;
}

/** Takes away approvals of a call that ran: another call may be like it, id and all. */
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
): Promise<ToolResultBlock | ApprovalRequiredError> {
  const { settings, capabilities } = call;
  call.scope.signal.throwIfAborted();
  const { use } = verdict;
  const startedAt = performance.now();
  if (verdict.type === 'deny') {
    const denied = toolResultBlock(use, verdict.message, true);
    call.emit({ type: 'tool.call', call: use });
    call.emit({ type: 'tool.result', result: denied, durationMs: performance.now() - startedAt });
    return denied;
  }
  const { tool, edited, decisions, confine } = verdict;
  const scope: ToolScope = { ...call.scope, tool };
  call.emit({ type: 'tool.call', call: edited ?? use });
  await call.room();
  const progress = progressOf(call, use);
  const options = {
    defaultTimeoutMs: settings.limits.toolMs,
    toolNames: [...tools.keys()],
    onUpdate: progress.update,
    decisions,
    confine,
  };
  const run = around(
    capabilities,
    'aroundTool',
    scope,
    (argument) => runTool(argument, scope, options),
    settings.limits,
  );
  let answer: ToolResultBlock;
  try {
    answer = checkedResult(use, await run(edited ?? use).finally(progress.stop));
  } catch (error) {
    if (ApprovalRequiredError.isInstance(error)) return error;
    throw error;
  }
  const result = edited ? withNote(answer, edited) : answer;
  call.emit({ type: 'tool.result', result, durationMs: performance.now() - startedAt });
  return result;
}

/** What a tool, or a hook around it, answers in place of a result is told to the model, and never stored. */
function checkedResult(use: ToolUseBlock, answer: ToolResultBlock): ToolResultBlock {
  const result = { ...answer, toolUseId: use.id, toolName: use.name };
  try {
    checkMessages([resultMessage(result)], 'result');
    return result;
  } catch (error) {
    const text = `The tool ran and may have taken effect, but what it answered is no result: ${errorText(error)}`;
    return toolResultBlock(use, text, true);
  }
}

/** Tells of a tool's progress until it is stopped: the latest update, while the reader is too far behind for all. */
function progressOf(call: RunningCall, { id: toolUseId, name }: ToolUseBlock) {
  let latest: readonly ToolOutputBlock[] | undefined;
  let isOver = false;
  const tell = () => {
    if (latest && !isOver) call.emit({ type: 'tool.progress', toolUseId, name, output: latest });
    latest = undefined;
  };
  return {
    update(output: readonly ToolOutputBlock[]) {
      const isWaiting = latest !== undefined;
      latest = output;
      const room = call.room();
      if (room === undefined) tell();
      else if (!isWaiting) void room.then(tell);
    },
    stop() {
      isOver = true;
    },
  };
}

/** The call stays in the conversation as the model made it, which providers sign and cache: the result tells the change. */
function withNote(result: ToolResultBlock, edited: ToolUseBlock): ToolResultBlock {
  const text = `[The user changed the input of this call before it ran, to ${JSON.stringify(edited.input)}]`;
  return { ...result, output: [{ type: 'text', text }, ...result.output] };
}

/** Picks the next batch: one call, or several read-only ones; none when the first must wait. */
function nextBatch(rest: readonly CallVerdict[], size: number): readonly (Allowed | Denied)[] {
  const [first] = rest;
  if (first === undefined || first.type === 'wait') return [];
  if (!isReadOnly(first)) return [first];
  const batch: Allowed[] = [];
  for (const verdict of rest) {
    if (!isReadOnly(verdict) || batch.length === size) break;
    batch.push(verdict);
  }
  return batch;
}

function isReadOnly(verdict: CallVerdict): verdict is Allowed {
  return verdict.type === 'run' && (verdict.tool?.readOnly ?? false);
}

function changesSomething(verdict: CallVerdict): boolean {
  return verdict.type === 'run' && !isReadOnly(verdict);
}

function resultMessage(result: ToolResultBlock): Message {
  return { id: randomUUID(), role: 'tool', content: [result], createdAt: new Date().toISOString() };
}

/**
 * Runs one tool, and turns every outcome into a result that the model can act on: unknown tools, invalid input,
 * time-outs and thrown errors become error results. Rejects only when the call as a whole is interrupted.
 */
async function runTool(
  call: ToolUseBlock,
  scope: ToolScope,
  options: Pick<Allowed, 'decisions' | 'confine'> & {
    readonly defaultTimeoutMs: number;
    readonly toolNames: readonly string[];
    readonly onUpdate: (output: readonly ToolOutputBlock[]) => void;
  },
): Promise<ToolResultBlock> {
  const { tool } = scope;
  if (tool === undefined) {
    const known = options.toolNames.join(', ') || 'none';
    return toolResultBlock(call, `There is no tool named "${call.name}". Available: ${known}.`, true);
  }
  const timeoutMs = tool.timeoutMs ?? options.defaultTimeoutMs;
  const deadline = new Deadline(scope.signal);
  const { signal } = deadline;
  deadline.start(call.name, tool.timeoutMs === undefined ? 'limits.toolMs' : 'timeoutMs', timeoutMs);
  const { runtime, state, log } = scope;
  const { onUpdate, decisions, confine } = options;
  const workspace = confine === undefined ? scope.workspace : confineWorkspace(scope.workspace, confine);
  try {
    const run = tool.run(call.input, { call, runtime, state, workspace, log, signal, onUpdate, decisions });
    // A tool that ignores its signal must not hold up the call.
    return toolResultBlock(call, await deadline.race(run));
  } catch (error) {
    scope.signal.throwIfAborted();
    if (ApprovalRequiredError.isInstance(error)) throw error;
    return toolResultBlock(call, wrongInput(error), true);
  } finally {
    deadline.stop();
  }
}
