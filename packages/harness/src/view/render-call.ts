import type { JsonValue, ToolUseBlock } from '@x/core';
import { plainLines, type RenderedLine, renderDiff } from './lines.js';
import { oneLine, printable } from './printable.js';

/** What a tool does, as far as a person distinguishes it: for an icon, or for the word of a protocol. */
export type CallKind = 'read' | 'search' | 'edit' | 'execute' | 'think' | 'mode' | 'delegate' | 'other';

/** A tool call as people read it. */
export interface RenderedCall {
  readonly kind: CallKind;
  /** One line: the tool, and what it works on. */
  readonly title: string;
  /** Completes the sentence "It wants to …". */
  readonly wants: string;
  /** The change of a file, where the call is one. `before` is left out when there was no file, or nobody looked. */
  readonly change?: { readonly path: string; readonly before?: string; readonly after: string };
  /** What the call would do: a command, a diff, a plan, or its input as JSON. */
  readonly lines: readonly RenderedLine[];
  /** The rest of the input as JSON, where `lines` shows only a part; empty otherwise. Nothing of an input is left out. */
  readonly rest: readonly RenderedLine[];
}

/** What a person knows beside a call's input. */
export interface RenderCallOptions {
  /** The text of the file that `write_file` would replace; `null` when there is none. Default: not known. */
  readonly before?: string | null | undefined;
  /** The text of the plan that `plan_exit` asks to approve. */
  readonly plan?: string | undefined;
}

/** UTF-16 units of a title's argument. */
const MAX_TITLE = 120;

/** Our own tools: kind, verb, and the argument that says most. Another tool's `path` may mean anything. */
const TOOLS: Readonly<Record<string, readonly [kind: CallKind, verb: string, field?: string]>> = {
  read_file: ['read', 'read', 'path'],
  list_files: ['search', 'list', 'path'],
  glob_files: ['search', 'find files like', 'pattern'],
  grep_files: ['search', 'search for', 'pattern'],
  write_file: ['edit', 'write', 'path'],
  edit_file: ['edit', 'edit', 'path'],
  execute: ['execute', 'run', 'command'],
  plan_enter: ['mode', 'plan before it changes anything'],
  plan_write: ['think', 'write its plan'],
  plan_exit: ['mode', 'carry out its plan'],
  todo_write: ['think', 'update its todo list'],
  recall: ['read', 'read again what was removed'],
  session_search: ['search', 'search all conversations for', 'query'],
  memory_search: ['search', 'search its memory for', 'query'],
  memory_get: ['read', 'read its memory', 'path'],
  memory_save: ['think', 'remember', 'content'],
  agent_spawn: ['delegate', 'give a task to', 'agent'],
};

/**
 * Renders a tool call for people: for a page, a terminal or an editor. Characters that are invisible are spelled out.
 *
 * @example
 * ```ts
 * import type { PendingCall } from '@x/core';
 * import { renderCall } from '@x/harness/view';
 *
 * export function question(call: PendingCall): string {
 *   const { wants, lines } = renderCall(call);
 *   return `It wants to ${wants}.\n${lines.map(({ mark, text }) => `${mark}${text}`).join('\n')}`;
 * }
 * ```
 */
export function renderCall(
  { name, input }: Pick<ToolUseBlock, 'name' | 'input'>,
  { before, plan }: RenderCallOptions = {},
): RenderedCall {
  const [kind, verb, field = ''] = Object.hasOwn(TOOLS, name) ? (TOOLS[name] ?? OTHER) : OTHER;
  const fields = isFields(input) ? input : {};
  const main = fields[field];
  const change = changeOf(name, fields, before);
  const drawn = (change && CHANGES[name]) ?? [field];
  const rest = Object.entries(fields).filter(([key]) => !drawn.includes(key));
  const others = rest.length > 0 ? [Object.fromEntries(rest)] : [];
  const json = (value: JsonValue) => plainLines(JSON.stringify(value, null, 2) ?? '');
  if (typeof main !== 'string') {
    // Our own tools without such an argument say enough by their name.
    const argument = kind === 'other' || field !== '' ? short(jsonLine(input)) : '';
    const title = oneLine(argument === '' ? name : `${name} ${argument}`);
    const lines = name === 'plan_exit' && plan !== undefined ? plainLines(plan) : json(input);
    return { kind, title, wants: kind === 'other' || field !== '' ? `use ${title}` : verb, lines, rest: [] };
  }
  const title = [name, short(main), ...others.map((value) => short(JSON.stringify(value)))].join(' ');
  const act = name === 'write_file' && before !== undefined ? (before === null ? 'create' : 'replace') : verb;
  const isDrawn = change !== undefined || name === 'execute';
  const own = change ? renderDiff(change.before ?? '', change.after) : plainLines(main);
  return {
    kind,
    title,
    wants: `${act} ${short(main)}`,
    ...(change ? { change } : {}),
    lines: isDrawn ? own : json(input),
    rest: isDrawn ? others.flatMap(json) : [],
  };
}

const OTHER = ['other', 'use', undefined] as const;
/** The arguments of the tools that change a file, which a diff shows. */
const CHANGES: Readonly<Record<string, readonly string[]>> = {
  write_file: ['path', 'content'],
  edit_file: ['path', 'oldText', 'newText'],
};

function changeOf(
  name: string,
  { path, content, oldText, newText }: { readonly [field: string]: JsonValue },
  before: string | null | undefined,
): RenderedCall['change'] {
  if (typeof path !== 'string') return undefined;
  if (name === 'write_file' && typeof content === 'string')
    return { path, ...(typeof before === 'string' ? { before } : {}), after: content };
  if (name === 'edit_file' && typeof oldText === 'string' && typeof newText === 'string')
    return { path, before: oldText, after: newText };
  return undefined;
}

function isFields(value: JsonValue): value is { readonly [field: string]: JsonValue } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An input in one line: one text stands for itself. Of several values the model could put first what it likes to be seen. */
function jsonLine(input: JsonValue): string {
  const values = isFields(input) ? Object.values(input) : [input];
  if (values.length === 0) return '';
  return values.length === 1 && typeof values[0] === 'string' ? values[0] : (JSON.stringify(input) ?? '');
}

function short(text: string): string {
  const line = printable(text.replaceAll(/\r?\n/g, '\\n').replaceAll('\t', ' '));
  return line.length > MAX_TITLE ? `${line.slice(0, MAX_TITLE)} … (${line.length} characters)` : line;
}
