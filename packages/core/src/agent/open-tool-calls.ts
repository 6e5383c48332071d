import type { ToolUseBlock } from '../messages/content-block.js';
import { toolResultBlock, toolResultsOf, toolUsesOf } from '../messages/message.js';
import type { AgentEvent, AgentEventBody } from './agent-event.js';
import { isAgentEvent } from './client-event.js';

interface Mentioned {
  readonly use: Pick<ToolUseBlock, 'id' | 'name'>;
  /** The id of the answer whose draft mentions the call; `undefined` once the answer is complete. */
  readonly messageId?: string | undefined;
  readonly hasBegun?: boolean;
}

type SubagentEvent = Extract<AgentEventBody, { readonly type: 'subagent.event' }>;

const UNFINISHED = 'No result: the stream ended before this call did.';
const WAITS = 'No result yet: a nested call waits for a decision.';

/**
 * The tool calls in a stream of events that have no result yet. If the stream ends because a person must decide, calls that have not
 * started wait for the decision. Every other call gets a result.
 */
export class OpenToolCalls {
  readonly #open = new Map<string, Mentioned>();
  /** Subagents with open calls, by task, each with its last event. */
  readonly #tasks = new Map<string, { readonly calls: OpenToolCalls; readonly last: SubagentEvent }>();

  /** Processes an event. Returns the events that must come before it. */
  before(event: AgentEventBody): readonly AgentEventBody[] {
    switch (event.type) {
      case 'tool.delta': {
        const { toolUseId: id, name, messageId } = event;
        if (!this.#open.has(id)) this.#open.set(id, { use: { id, name }, messageId });
        return [];
      }
      case 'draft.discarded':
        for (const [id, { messageId }] of this.#open)
          if (messageId === event.messageId) this.#open.delete(id);
        return [];
      case 'tool.call':
        this.#open.set(event.call.id, { use: event.call, hasBegun: true });
        return [];
      case 'tool.result':
        this.#open.delete(event.result.toolUseId);
        return [];
      case 'message.added':
        for (const use of toolUsesOf(event.message))
          this.#open.set(use.id, { ...this.#open.get(use.id), use, messageId: undefined });
        return toolResultsOf(event.message)
          .filter(({ toolUseId }) => this.#open.delete(toolUseId))
          .map((result) => ({ type: 'tool.result', result, durationMs: 0 }));
      case 'subagent.event':
        return this.#beforeTask(event);
      case 'call.completed':
      case 'call.failed':
        return this.end(event.type === 'call.completed' && event.stopReason === 'permission_required');
      default:
        return [];
    }
  }

  /** Ends the stream. Returns a result for each open call, or only for started calls if the stream waits for a decision. */
  end(waits = false): readonly AgentEventBody[] {
    const own = [...this.#open.values()].flatMap(({ use, hasBegun }): AgentEventBody[] => {
      if (waits && !hasBegun) return [];
      const result = toolResultBlock(use, waits ? WAITS : UNFINISHED, !waits);
      return [{ type: 'tool.result', result, durationMs: 0 }];
    });
    const theirs = [...this.#tasks.values()].flatMap(({ calls, last }) => ofTask(last, calls.end()));
    this.#open.clear();
    this.#tasks.clear();
    return [...theirs, ...own];
  }

  #beforeTask(event: SubagentEvent): readonly AgentEventBody[] {
    const { taskId } = event;
    const calls = this.#tasks.get(taskId)?.calls ?? new OpenToolCalls();
    const results = ofTask(event, calls.before(event.event));
    if (calls.#open.size + calls.#tasks.size === 0) this.#tasks.delete(taskId);
    else this.#tasks.set(taskId, { calls, last: event });
    return results;
  }
}

function ofTask(told: SubagentEvent, bodies: readonly AgentEventBody[]): readonly AgentEventBody[] {
  return bodies.map((body) => ({ ...told, event: placed(body, told.event) }));
}

/** Gives an event the position of another event in the stream. */
function placed(body: AgentEventBody, { seq, sessionId, agentId, callId, step, at }: AgentEvent): AgentEvent {
  return { ...body, seq, sessionId, agentId, callId, step, at };
}

/** Passes events on. When they end or fail, adds a result for each open call. Items that are not agent events pass unchanged. */
export async function* withoutOpenCalls<Item>(events: AsyncIterable<Item>): AsyncGenerator<Item, void> {
  const calls = new OpenToolCalls();
  let last: AgentEvent | undefined;
  const told = (bodies: readonly AgentEventBody[]) =>
    bodies.map((body) => placed(body, last as AgentEvent) as Item);
  try {
    for await (const item of events) {
      if (isAgentEvent(item)) {
        last = item;
        yield* told(calls.before(item));
      }
      yield item;
    }
  } catch (error) {
    yield* told(calls.end());
    throw error;
  }
  yield* told(calls.end());
}
