import {
  type JsonObject,
  type JsonValue,
  type Message,
  type ModelRequest,
  type Todo,
  textOf,
  toolResultsOf,
  toolUsesOf,
} from '@x/core';

/** A tool result, as far as it is still in view. */
interface SeenResult {
  readonly text: string;
  readonly isError: boolean;
}

/** A statement of the guide, in view or quoted by the record. */
interface Statement {
  readonly text: string;
  readonly isRecord: boolean;
}

/** Everything that the guide can see: the request, as for any model. */
export interface View {
  /** The user's latest request. */
  readonly request: string;
  /** Whether nothing has happened since the request. */
  readonly isFresh: boolean;
  /** Whether a call precedes the request, in view or in the record: it was sent while the guide worked. */
  readonly isAmid: boolean;
  /** Whether the request says why the user denied a call. */
  readonly isDenial: boolean;
  /** Whether the request is known to start a call, and not to join a running one. */
  readonly startsCall: boolean;
  /** The todo list in the reminder at the end of the conversation. */
  readonly todos: readonly Todo[];
  /**
   * The guide's statements since the request, oldest first: those in the record of removed messages, then those in view and in recalled
   * messages.
   */
  readonly said: readonly Statement[];
  /** The record of removed messages; empty before the first compaction. */
  readonly record: string;
  /** Returns the result of a call, if it is still in view and not masked. */
  result(name: string, input: JsonValue): SeenResult | undefined;
}

const TODO_LINE = /^\[([ >x])\] (.+)$/gm;
const STATUS = { ' ': 'pending', '>': 'in_progress', x: 'completed' } as const;
/** Matches the line that masking leaves of an output. It names the tool and its size. */
const STUB = /^\[[\w-]+ → /;
/** Matches the beginning of a line in a record: a request (»), a statement (-), a call (* and ·) or a list (=). */
const ENTRY = /^([»*·=-]) r\d/gm;
/** Metadata of a message that starts a call. After a stopped call, nothing else distinguishes it from a message for a running call. */
export const STARTS_CALL = { startsCall: true };

export function readView({ messages }: ModelRequest): View {
  const conversation = messages.filter((message) => message.kind !== 'synthetic');
  const requests = conversation.filter((message) => message.role === 'user' && message.kind === undefined);
  const asked = requests.at(-1);
  const at = asked ? conversation.indexOf(asked) : 0;
  const before = conversation[at - 1];
  // Findings of an earlier request may be out of date.
  const since = conversation.slice(at);
  const results = seenResults(since);
  const record = conversation.map((message) => (message.kind === 'summary' ? textOf(message) : '')).join('');
  const marks = [...record.matchAll(ENTRY)].map(([, mark]) => mark);
  // A record after the request quotes the request too, and what followed it.
  const quoted = since.some(({ kind }) => kind === 'summary') ? marks.lastIndexOf('»') : marks.length;
  const lastMark = marks[quoted - 1] ?? '';
  const follows = before?.role === 'assistant' || before?.role === 'tool';
  return {
    request: asked ? textOf(asked).trim() : '',
    isFresh:
      since.every(({ kind }, index) => index === 0 || kind === 'summary') && quoted >= marks.length - 1,
    startsCall: asked?.metadata?.startsCall === true,
    isDenial: follows && toolResultsOf(before).some(({ output }) => /^The user denied/.test(textOf(output))),
    isAmid: follows ? before.role === 'tool' || toolUsesOf(before).length > 0 : /[*·]/.test(lastMark),
    todos: messages
      .filter((message) => message.kind === 'synthetic')
      .flatMap((message) => readTodos(textOf(message))),
    record,
    said: conversation.flatMap((message) =>
      message.kind === 'summary' ? recorded(textOf(message)) : since.includes(message) ? stated(message) : [],
    ),
    result: (name, input) => results.get(signature(name, input)),
  };
}

function seenResults(messages: readonly Message[]): ReadonlyMap<string, SeenResult> {
  const calls = new Map<string, string>();
  const seen = new Map<string, SeenResult>();
  for (const message of messages) {
    for (const call of toolUsesOf(message)) calls.set(call.id, signature(call.name, call.input));
    for (const result of toolResultsOf(message)) {
      const call = calls.get(result.toolUseId);
      const text = textOf(result.output);
      if (call === undefined || STUB.test(text)) continue;
      // Results from before a change may be out of date.
      if (/^(?:write|edit)_file /.test(call)) seen.clear();
      seen.set(call, { text, isError: result.isError });
    }
  }
  return seen;
}

/** Returns the guide's lines that a record quotes after the last quoted request. */
function recorded(record: string): readonly Statement[] {
  const lines = record.split('\n');
  const from = lines.findLastIndex((line) => line.startsWith('» ')) + 1;
  return lines.slice(from).flatMap((line) => {
    const [, text] = /^- r\d+ (.+)$/.exec(line) ?? [];
    return text === undefined ? [] : [{ text, isRecord: true }];
  });
}

function stated(message: Message): readonly Statement[] {
  if (message.role === 'assistant') return [{ text: textOf(message), isRecord: false }];
  const recalled = toolResultsOf(message).filter(({ toolName }) => toolName === 'recall');
  return recalled.map(({ output }) => ({ text: textOf(output), isRecord: true }));
}

function readTodos(text: string): Todo[] {
  return [...text.matchAll(TODO_LINE)].map(([, mark, content = '']) => ({
    content,
    status: STATUS[mark as keyof typeof STATUS],
  }));
}

function signature(name: string, input: JsonValue): string {
  return `${name} ${JSON.stringify(input)}`;
}

/** A tool call that the guide wants to make. */
export interface Wish {
  readonly name: string;
  readonly input: JsonObject;
}

/** The guide's next text and calls. Without calls its turn ends. */
export interface Decision {
  readonly text: string;
  readonly calls: readonly Wish[];
}

export function say(text: string): Decision {
  return { text, calls: [] };
}

export function act(text: string, ...calls: readonly Wish[]): Decision {
  return { text, calls };
}
