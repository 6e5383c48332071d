import { isAbsolute, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import type {
  ContentBlock as Content,
  SessionUpdate,
  StopReason as Stopped,
  ToolCallContent,
  ToolKind,
} from '@agentclientprotocol/sdk';
import type {
  ClientEvent,
  ContentBlock,
  Message,
  PendingCall,
  StopReason,
  Todo,
  ToolResultBlock,
  ToolUseBlock,
} from '@x/core';
import { type CallKind, type RenderedCall, type RenderedLine, renderCall } from '@x/harness/view';
import { changeInWords, stagesInWords } from '../terminal/compaction-words.js';

/** Maps kinds of calls to those of the protocol. */
const KINDS: Readonly<Record<CallKind, ToolKind>> = {
  read: 'read',
  search: 'search',
  edit: 'edit',
  execute: 'execute',
  think: 'think',
  mode: 'switch_mode',
  delegate: 'other',
  other: 'other',
};

/** Maps stop reasons to those of the protocol; `undefined` for failures. */
export const STOPPED: Readonly<Record<StopReason, Stopped | undefined>> = {
  completed: 'end_turn',
  stop_condition: 'end_turn',
  superseded: 'end_turn',
  permission_required: 'end_turn',
  truncated: 'max_tokens',
  max_iterations: 'max_turn_requests',
  budget_exceeded: 'max_turn_requests',
  refused: 'refusal',
  filtered: 'refusal',
  interrupted: 'cancelled',
  shutdown: 'cancelled',
  timed_out: undefined,
};

type Chunk = 'user_message_chunk' | 'agent_message_chunk' | 'agent_thought_chunk';

function chunk(sessionUpdate: Chunk, text: string): SessionUpdate {
  return { sessionUpdate, content: { type: 'text', text } };
}

/** Returns the protocol updates for an event. Most events need none. */
export function updatesOf(event: ClientEvent, directory: string): readonly SessionUpdate[] {
  switch (event.type) {
    case 'text.delta':
      return [chunk('agent_message_chunk', event.text)];
    case 'thinking.delta':
      return [chunk('agent_thought_chunk', event.text)];
    case 'draft.discarded':
      if (event.text.trim() === '') return [];
      return [chunk('agent_message_chunk', '\n\n[The answer above was interrupted and discarded.]\n\n')];
    case 'tool.call':
      return [{ sessionUpdate: 'tool_call', status: 'in_progress', ...toolCall(event.call, directory) }];
    case 'tool.progress':
      return [{ sessionUpdate: 'tool_call_update', toolCallId: event.toolUseId, ...shown(event.output) }];
    case 'tool.result':
      return [result(event.result)];
    case 'permission.decided': {
      const { call, decision } = event;
      // The editor never gets the result of a subagent's call.
      if (!call.agentId || decision === 'superseded') return [];
      const text = `Decision: ${decision}. The result goes to the subagent.`;
      return [result({ toolUseId: shownId(call), output: [{ type: 'text', text }], isError: false })];
    }
    case 'context.compacted':
      if (event.status !== 'applied') return [];
      return [
        chunk(
          'agent_thought_chunk',
          `[Context compacted: ${stagesInWords(event.stagesUsed)} · ${changeInWords(event)}]\n`,
        ),
      ];
    case 'warning':
      return [chunk('agent_thought_chunk', `[${event.message}]\n`)];
    case 'model.retrying': {
      const seconds = Math.ceil(event.delayMs / 1_000);
      return [chunk('agent_thought_chunk', `[${event.error.message}]\n[Trying again in ${seconds} s.]\n`)];
    }
    default:
      return [];
  }
}

/** Returns the updates that show a message of a loaded session. */
export function replayOf(message: Message, directory: string): readonly SessionUpdate[] {
  if (message.kind !== undefined || message.role === 'system') return [];
  const says: Chunk = message.role === 'user' ? 'user_message_chunk' : 'agent_message_chunk';
  return message.content.flatMap((block): SessionUpdate[] => {
    switch (block.type) {
      case 'text':
        return block.text === '' ? [] : [chunk(says, block.text)];
      case 'thinking':
        return block.thinking === '' ? [] : [chunk('agent_thought_chunk', block.thinking)];
      case 'tool_use':
        return [{ sessionUpdate: 'tool_call', status: 'pending', ...toolCall(block, directory) }];
      case 'tool_result':
        return [result(block)];
      case 'file':
        return [{ sessionUpdate: says, content: toContent(block) }];
      default:
        return [];
    }
  });
}

/** Converts the todo list to a plan of the protocol. */
export function planOf(todos: readonly Todo[]): SessionUpdate {
  const entries = todos.map(({ content, status }) => ({ content, status, priority: 'medium' as const }));
  return { sessionUpdate: 'plan', entries };
}

/** Converts a call for the editor. */
export function toolCall(call: ToolUseBlock, directory: string) {
  const { kind, title } = renderCall(call);
  const { path } = Object(call.input) as { readonly path?: unknown };
  return {
    toolCallId: call.id,
    title,
    kind: KINDS[kind],
    rawInput: call.input,
    ...(typeof path === 'string' ? { locations: [{ path: resolve(directory, path) }] } : {}),
  } as const;
}

/** Returns everything that a call would do, for approval: a change as a diff, anything else as text. */
export function contentOf({ change, lines, rest }: RenderedCall, directory: string): ToolCallContent[] {
  const asText = (part: readonly RenderedLine[]): ToolCallContent[] =>
    part.length === 0 ? [] : [textContent(part.map(({ text }) => text).join('\n'))];
  if (change === undefined) return [...asText(lines), ...asText(rest)];
  const { path, before, after } = change;
  return [
    { type: 'diff', path: resolve(directory, path), oldText: before ?? null, newText: after },
    ...asText(rest),
  ];
}

export function textContent(text: string): ToolCallContent {
  return { type: 'content', content: { type: 'text', text } };
}

/** Returns the id of a pending call for the editor. A subagent's call may have the same id as another call. */
export function shownId({ id, approvalId, agentId }: PendingCall): string {
  return agentId ? approvalId : id;
}

type Result = Pick<ToolResultBlock, 'toolUseId' | 'output' | 'isError'>;

function result({ toolUseId, output, isError }: Result): SessionUpdate {
  const status = isError ? 'failed' : 'completed';
  return { sessionUpdate: 'tool_call_update', toolCallId: toolUseId, status, ...shown(output) };
}

/** Returns the update for a call that was neither approved nor denied. The next prompt supersedes the call. */
export function undecided(call: PendingCall): SessionUpdate {
  const text = 'Not run: nobody approved or denied this call.';
  return result({ toolUseId: shownId(call), output: [{ type: 'text', text }], isError: true });
}

function shown(output: ToolResultBlock['output']) {
  return { content: output.map((block) => ({ type: 'content' as const, content: toContent(block) })) };
}

function toContent(block: ToolResultBlock['output'][number]): Content {
  if (block.type === 'text') return { type: 'text', text: block.text };
  const { mediaType: mimeType, source, filename = mediaName(mimeType) } = block;
  const [kind] = mimeType.split('/');
  if (source.type === 'base64' && (kind === 'image' || kind === 'audio'))
    return { type: kind, data: source.data, mimeType };
  return source.type === 'url'
    ? { type: 'resource_link', name: filename, uri: source.url, mimeType }
    : { type: 'text', text: `[${filename}]` };
}

function mediaName(mimeType: string): string {
  return `a file of type ${mimeType}`;
}

/** Converts a prompt from an editor. Links become paths for the model. The contents of attached files are not the user's words. */
export function blocksOf(prompt: readonly Content[], directory: string): readonly ContentBlock[] {
  const place = (uri: string) => pathInProject(uri, directory);
  return prompt.map((part): ContentBlock => {
    switch (part.type) {
      case 'text':
        return { type: 'text', text: part.text };
      case 'resource_link':
        return { type: 'text', text: `[${part.name}](${place(part.uri)})` };
      case 'resource': {
        const { resource } = part;
        const origin = 'file';
        if ('text' in resource)
          return { type: 'text', text: `${place(resource.uri)}:\n${resource.text}`, origin };
        const mediaType = resource.mimeType ?? 'application/octet-stream';
        return { type: 'file', mediaType, source: { type: 'base64', data: resource.blob }, origin };
      }
      default:
        return { type: 'file', mediaType: part.mimeType, source: { type: 'base64', data: part.data } };
    }
  });
}

/** Converts the URL of a file in the project to a path in the project. Returns any other URL unchanged. */
function pathInProject(uri: string, directory: string): string {
  try {
    const { protocol, search, hash } = new URL(uri);
    if (protocol !== 'file:') return uri;
    const path = relative(resolve(directory), fileURLToPath(uri));
    const isInside = path !== '' && path !== '..' && !path.startsWith(`..${sep}`) && !isAbsolute(path);
    return isInside ? `${path}${search}${hash}` : uri;
  } catch {
    // Not a valid URL, or not a valid path.
    return uri;
  }
}
