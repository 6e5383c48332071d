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

/** The result of a tool, as far as the view still shows it. */
interface SeenResult {
  readonly text: string;
  readonly isError: boolean;
}

/** All that the guide may look at: the request it was sent, like any model. */
export interface View {
  /** The user's latest request. */
  readonly request: string;
  /** True when nothing has happened since. */
  readonly isFresh: boolean;
  /** True when no answer stands before it: it was said while the guide worked, or what was before is reduced. */
  readonly isAmid: boolean;
  /** The list in the reminder behind the conversation. */
  readonly todos: readonly Todo[];
  /** The answer to a call that is still in view and has not been masked. */
  result(name: string, input: JsonValue): SeenResult | undefined;
}

const TODO_LINE = /^\[([ >x])\] (.+)$/gm;
const STATUS = { ' ': 'pending', '>': 'in_progress', x: 'completed' } as const;
/** The line that masking leaves of an output: it names the tool and its size. */
const STUB = /^\[[\w-]+ → /;

export function readView({ messages }: ModelRequest): View {
  const conversation = messages.filter((message) => message.kind !== 'synthetic');
  const requests = conversation.filter((message) => message.role === 'user' && message.kind === undefined);
  const asked = requests.at(-1);
  const at = asked ? conversation.indexOf(asked) : 0;
  const before = conversation[at - 1];
  // Findings of an earlier request may be out of date.
  const results = seenResults(conversation.slice(at));
  return {
    request: asked ? textOf(asked).trim() : '',
    isFresh: conversation.at(-1) === asked,
    isAmid: before?.role !== 'assistant' || toolUsesOf(before).length > 0,
    todos: messages
      .filter((message) => message.kind === 'synthetic')
      .flatMap((message) => readTodos(textOf(message))),
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
      // What was read before a change may no longer be so.
      if (/^(?:write|edit)_file /.test(call)) seen.clear();
      seen.set(call, { text, isError: result.isError });
    }
  }
  return seen;
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

/** A tool call that the guide wants. */
export interface Wish {
  readonly name: string;
  readonly input: JsonObject;
}

/** The next text and calls of the guide; without calls its turn is over. */
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
