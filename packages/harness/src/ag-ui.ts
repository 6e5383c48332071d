import {
  type AgentEvent,
  type ClientEvent,
  type ContentBlock,
  type ToolUseBlock,
  textOf,
  toClientError,
  toClientEvent,
} from '@x/core';
import { clientJson, type DraftReference, type WordError, withoutOpenCalls } from '@x/core/internal';
import { leaveAtOnce } from './lib/leave-at-once.js';

/** An event of the AG-UI protocol. */
type AgUiEvent = { readonly type: string; readonly [field: string]: unknown };

export interface ToAgUiOptions {
  /** The id of the conversation in the page. Default: the session's id. */
  readonly threadId?: string | undefined;
  /** The id of the run in the page. Default: the call's id. */
  readonly runId?: string | undefined;
  /** Returns the error message for the user. Default: the error's `clientMessage`, or "An error occurred.". */
  readonly onError?: WordError | undefined;
}

/**
 * Converts an agent's events to events of the AG-UI protocol, which CopilotKit and other pages read. Texts, thoughts and tool inputs become
 * chunks. Events without an AG-UI equivalent (compactions, approvals, progress, retries, discarded drafts) become `CUSTOM` events under
 * their own names. Each new draft has a new message id.
 *
 * @example
 * ```ts
 * import { type HarnessAgent, toAgUi } from '@x/harness';
 *
 * export async function* lines(agent: HarnessAgent, question: string) {
 *   for await (const event of toAgUi(agent.stream(question))) yield `data: ${JSON.stringify(event)}\n\n`;
 * }
 * ```
 */
export function toAgUi(
  events: AsyncIterable<AgentEvent>,
  options: ToAgUiOptions = {},
): AsyncGenerator<AgUiEvent, void, void> {
  const source = events[Symbol.asyncIterator]();
  const run = runOf({ [Symbol.asyncIterator]: () => source }, options);
  return leaveAtOnce(run, () => source.return?.());
}

async function* runOf(
  events: AsyncIterable<AgentEvent>,
  { threadId, runId, onError }: ToAgUiOptions,
): AsyncGenerator<AgUiEvent, void, void> {
  const told = { pieces: new Set<string>(), inputs: new Set<string>(), discarded: new Map<string, number>() };
  const failed = (error: unknown): AgUiEvent => ({ type: 'RUN_ERROR', ...toClientError(error, onError) });
  try {
    for await (const event of withoutOpenCalls(events)) {
      const run = { threadId: threadId ?? event.sessionId, runId: runId ?? event.callId };
      if (event.type === 'call.started') yield { type: 'RUN_STARTED', ...run };
      else if (event.type === 'call.failed') return yield failed(event.error);
      else if (event.type === 'call.completed') {
        const { stopReason, usage, pendingCalls, output } = event;
        const result: unknown = JSON.parse(clientJson({ stopReason, usage, pendingCalls, output }));
        yield { type: 'RUN_FINISHED', ...run, result };
      } else yield* eventsOf(toClientEvent(event, onError), told);
    }
  } catch (error) {
    yield failed(error);
  }
}

/** What was sent to the page so far. */
interface Told {
  /** Ids of messages and calls that were sent in chunks. */
  readonly pieces: Set<string>;
  /** Ids of the tool calls in the current draft. */
  readonly inputs: Set<string>;
  /** The last discarded draft of each message. */
  readonly discarded: Map<string, number>;
}

function* eventsOf(event: ClientEvent, { pieces, inputs, discarded }: Told): Generator<AgUiEvent> {
  switch (event.type) {
    case 'text.delta':
    case 'thinking.delta':
      pieces.add(event.messageId);
      yield piece(event.type === 'text.delta' ? 'text' : 'thinking', event, event.text);
      return;
    case 'tool.delta': {
      const { toolUseId, name, inputDelta: delta } = event;
      pieces.add(toolUseId);
      inputs.add(toolUseId);
      yield {
        type: 'TOOL_CALL_CHUNK',
        toolCallId: toolUseId,
        toolCallName: name,
        parentMessageId: idOf(event),
        delta,
      };
      return;
    }
    case 'model.completed':
      inputs.clear();
      for (const block of event.message.content)
        if (block.type === 'tool_use') yield* callOf(block, pieces);
        else if (!pieces.has(event.message.id))
          yield* whole(block, {
            messageId: event.message.id,
            draft: (discarded.get(event.message.id) ?? 0) + 1,
          });
      return;
    case 'tool.call':
      yield* callOf(event.call, pieces);
      return;
    case 'tool.result': {
      const { toolUseId, isError } = event.result;
      yield toolResult(toolUseId, textOf([event.result]), isError);
      return;
    }
    case 'draft.discarded':
      pieces.delete(event.messageId);
      discarded.set(event.messageId, event.draft);
      for (const id of inputs) {
        pieces.delete(id);
        yield toolResult(id, 'This call was not made.', true);
      }
      inputs.clear();
      yield { type: 'CUSTOM', name: event.type, value: { messageId: idOf(event) } };
      return;
    case 'permission.required':
    case 'context.compacted':
    case 'tool.progress':
    case 'model.retrying':
    case 'model.fallback':
    case 'task.changed':
    case 'warning':
      yield { type: 'CUSTOM', name: event.type, value: event };
  }
}

/** Yields a call whose input was not streamed. Includes calls that do not run, because these have results too. */
function* callOf({ id, name, input }: ToolUseBlock, pieces: Set<string>): Generator<AgUiEvent> {
  if (pieces.has(id)) return;
  pieces.add(id);
  yield { type: 'TOOL_CALL_CHUNK', toolCallId: id, toolCallName: name, delta: JSON.stringify(input) };
}

function toolResult(toolCallId: string, content: string, isError: boolean): AgUiEvent {
  const error = isError ? { error: content } : {};
  return {
    type: 'TOOL_CALL_RESULT',
    messageId: `result-${toolCallId}`,
    toolCallId,
    role: 'tool',
    content,
    ...error,
  };
}

/** Returns a message's id for the page. A later draft gets a new id, because streamed text cannot be withdrawn. */
function idOf({ messageId, draft }: DraftReference): string {
  return draft === 1 ? messageId : `${messageId}-${draft}`;
}

function piece(type: 'text' | 'thinking', draft: DraftReference, delta: string): AgUiEvent {
  const messageId = idOf(draft);
  return type === 'text'
    ? { type: 'TEXT_MESSAGE_CHUNK', messageId, role: 'assistant', delta }
    : { type: 'REASONING_MESSAGE_CHUNK', messageId: `${messageId}-thought`, delta };
}

/** Yields the events of a block that was not streamed. */
function* whole(block: ContentBlock, draft: DraftReference): Generator<AgUiEvent> {
  if (block.type === 'text' && block.text !== '') yield piece('text', draft, block.text);
  if (block.type === 'thinking' && block.thinking !== '') yield piece('thinking', draft, block.thinking);
}
