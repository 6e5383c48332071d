import { isAbsolute, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import type {
  ContentBlock as Content,
  SessionUpdate,
  StopReason as Stopped,
  ToolKind,
} from '@agentclientprotocol/sdk';
import type {
  AgentEvent,
  ContentBlock,
  Message,
  StopReason,
  Todo,
  ToolResultBlock,
  ToolUseBlock,
} from '@x/core';
import { headOf } from '@x/core/internal';
import { oneLine, printable } from '../terminal/style.js';

const MAX_TITLE = 120;

/** How editors draw the tools that ship with us; all others are drawn alike. */
const KINDS: Readonly<Record<string, ToolKind>> = {
  read_file: 'read',
  list_files: 'search',
  glob_files: 'search',
  grep_files: 'search',
  recall: 'search',
  query_history: 'search',
  write_file: 'edit',
  edit_file: 'edit',
  execute: 'execute',
  plan_enter: 'switch_mode',
  plan_exit: 'switch_mode',
};

/** The protocol's word for the end of a turn; none for one that is a failure. */
export const STOPPED: Readonly<Record<StopReason, Stopped | undefined>> = {
  completed: 'end_turn',
  stop_condition: 'end_turn',
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

/** What an editor shows of an event; nothing for most. */
export function updatesOf(event: AgentEvent, directory: string): readonly SessionUpdate[] {
  switch (event.type) {
    case 'text.delta':
      return [chunk('agent_message_chunk', event.text)];
    case 'thinking.delta':
      return [chunk('agent_thought_chunk', event.text)];
    case 'draft.discarded':
      if (event.text === '') return [];
      return [chunk('agent_message_chunk', '\n\n[The text above is void: the model begins again.]\n\n')];
    case 'tool.call':
      return [{ sessionUpdate: 'tool_call', status: 'in_progress', ...toolCall(event.call, directory) }];
    case 'tool.progress':
      return [{ sessionUpdate: 'tool_call_update', toolCallId: event.toolUseId, ...shown(event.output) }];
    case 'tool.result':
      return [result(event.result)];
    case 'context.compacted':
      if (event.status !== 'applied') return [];
      return [
        chunk(
          'agent_thought_chunk',
          `[Context compacted: ${event.strategyUsed}, ${event.messagesBefore} → ${event.messagesAfter} messages.]\n`,
        ),
      ];
    case 'warning':
      return [chunk('agent_thought_chunk', `[${event.message}]\n`)];
    default:
      return [];
  }
}

/** A message of an earlier turn, as it was shown then. */
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

/** The todo list as the protocol's plan. */
export function planOf(todos: readonly Todo[]): SessionUpdate {
  const entries = todos.map(({ content, status }) => ({ content, status, priority: 'medium' as const }));
  return { sessionUpdate: 'plan', entries };
}

/** A call as an editor shows it, and asks about it. */
export function toolCall({ id, name, input }: ToolUseBlock, directory: string) {
  const { path } = Object(input) as { readonly path?: unknown };
  const values = Object.values(Object(input) as object);
  // One value stands for itself; of several the model could put first what it likes to be seen.
  const text = values.length === 1 && typeof values[0] === 'string' ? values[0] : JSON.stringify(input);
  const line = oneLine(text.replaceAll('\n', '\\n'));
  return {
    toolCallId: id,
    title: oneLine(
      values.length === 0
        ? name
        : `${name} ${line.length > MAX_TITLE ? `${headOf(line, MAX_TITLE)} … (${line.length} characters)` : line}`,
    ),
    kind: KINDS[name] ?? 'other',
    rawInput: input,
    ...(typeof path === 'string' ? { locations: [{ path: resolve(directory, path) }] } : {}),
  } as const;
}

/** All of what a call would be run with, to be approved. */
export function wholeInput({ input }: Pick<ToolUseBlock, 'input'>): string {
  return printable(JSON.stringify(input, null, 2) ?? '');
}

function result({ toolUseId, output, isError }: ToolResultBlock): SessionUpdate {
  const status = isError ? 'failed' : 'completed';
  return { sessionUpdate: 'tool_call_update', toolCallId: toolUseId, status, ...shown(output) };
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

/** What a user wrote in an editor: links and attached files are named to the model by their paths. */
export function blocksOf(prompt: readonly Content[], directory: string): readonly ContentBlock[] {
  const place = (uri: string) => placeOf(uri, directory);
  return prompt.map((part): ContentBlock => {
    switch (part.type) {
      case 'text':
        return { type: 'text', text: part.text };
      case 'resource_link':
        return { type: 'text', text: `[${part.name}](${place(part.uri)})` };
      case 'resource': {
        const { resource } = part;
        if ('text' in resource) return { type: 'text', text: `${place(resource.uri)}:\n${resource.text}` };
        const mediaType = resource.mimeType ?? 'application/octet-stream';
        return { type: 'file', mediaType, source: { type: 'base64', data: resource.blob } };
      }
      default:
        return { type: 'file', mediaType: part.mimeType, source: { type: 'base64', data: part.data } };
    }
  });
}

/** The path in the project of what an address of a file names; the address itself where it names nothing there. */
function placeOf(uri: string, directory: string): string {
  try {
    const { protocol, search, hash } = new URL(uri);
    if (protocol !== 'file:') return uri;
    const path = relative(resolve(directory), fileURLToPath(uri));
    const isInside = path !== '' && path !== '..' && !path.startsWith(`..${sep}`) && !isAbsolute(path);
    return isInside ? `${path}${search}${hash}` : uri;
  } catch {
    // No address, or one with characters that no path has.
    return uri;
  }
}
