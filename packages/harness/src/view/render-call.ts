import type { JsonObject, JsonValue, ToolUseBlock } from '@x/core';
import { isObject } from '@x/core/internal';
import { plainLines, type RenderedLine, renderDiff } from './lines.js';
import { oneLine, printable } from './printable.js';

/** The kind of a tool, for an icon or for a protocol's own classification. */
export type CallKind = 'read' | 'search' | 'edit' | 'execute' | 'think' | 'mode' | 'delegate' | 'other';

/** A tool call for display. */
export interface RenderedCall {
  readonly kind: CallKind;
  /** One line with the tool and its main argument. */
  readonly title: string;
  /** Completes the sentence "It wants to …". */
  readonly wants: string;
  /** The change, if the call changes a file. `before` is omitted if the file did not exist or its content is unknown. */
  readonly change?: { readonly path: string; readonly before?: string; readonly after: string };
  /** The effect of the call: a command, a diff, a plan, or its input as JSON. */
  readonly lines: readonly RenderedLine[];
  /** The rest of the input as JSON, if `lines` shows only a part; otherwise empty. Together they show the whole input. */
  readonly rest: readonly RenderedLine[];
}

/** Information in addition to a call's input. */
interface RenderCallOptions {
  /** Content of the file that `write_file` would replace, or `null` if there is none. Default: unknown. */
  readonly before?: string | null | undefined;
  /** Content of the plan that `plan_exit` asks to approve. */
  readonly plan?: string | undefined;
}

/** Maximum length of a title's argument in UTF-16 units. */
const MAX_TITLE = 120;

/** Built-in tools: kind, verb and main argument. Arguments of other tools may have any meaning. */
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
 * Renders a tool call for a page, a terminal or an editor. Escapes invisible characters.
 *
 * @example
 * ```ts
 * import type { PendingCall } from '@x/core';
 * import { renderCall } from '@x/harness/view';
 *
 * export function question(call: PendingCall): string {
 *   const { wants, lines, rest } = renderCall(call);
 *   return `It wants to ${wants}.\n${[...lines, ...rest].map(({ mark, text }) => `${mark}${text}`).join('\n')}`;
 * }
 * ```
 */
export function renderCall(
  { name, input }: Pick<ToolUseBlock, 'name' | 'input'>,
  { before, plan }: RenderCallOptions = {},
): RenderedCall {
  const [kind, verb, field = ''] = Object.hasOwn(TOOLS, name) ? (TOOLS[name] ?? OTHER) : OTHER;
  const fields = isObject(input) ? input : {};
  const main = fields[field];
  const change = changeOf(name, fields, before);
  // A diff does not name its file, and a title may cut the path.
  const isCut = printable(change?.path ?? '').length > MAX_TITLE;
  const drawn = (change && CHANGES[name]) ?? [field];
  const rest = Object.entries(fields).filter(([key]) => !drawn.includes(key) || (isCut && key === field));
  const json = (value: JsonValue) => plainLines(JSON.stringify(value, null, 2) ?? '');
  if (typeof main !== 'string') {
    // The name is enough for built-in tools without a main argument.
    const argument = kind === 'other' || field !== '' ? short(jsonLine(input)) : '';
    const title = oneLine(argument === '' ? name : `${name} ${argument}`);
    const lines = name === 'plan_exit' && plan !== undefined ? plainLines(plan) : json(input);
    return { kind, title, wants: kind === 'other' || field !== '' ? `use ${title}` : verb, lines, rest: [] };
  }
  const more = rest.map(([key, value]) => `${key}=${JSON.stringify(value)}`).join(' ');
  const title = [name, short(main), short(more)].filter(Boolean).join(' ');
  const act = name === 'write_file' && before !== undefined ? (before === null ? 'create' : 'replace') : verb;
  const isDrawn = change !== undefined || name === 'execute';
  return {
    kind,
    title,
    wants: `${act} ${short(main)}`,
    ...(change ? { change } : {}),
    lines: change ? renderDiff(change.before ?? '', change.after) : isDrawn ? plainLines(main) : json(input),
    rest: isDrawn && rest.length > 0 ? json(Object.fromEntries(rest)) : [],
  };
}

const OTHER = ['other', 'use', undefined] as const;
/** Arguments that the diff already shows, for each tool that changes a file. */
const CHANGES: Readonly<Record<string, readonly string[]>> = {
  write_file: ['path', 'content'],
  edit_file: ['path', 'oldText', 'newText'],
};

function changeOf(
  name: string,
  { path, content, oldText, newText }: JsonObject,
  before: string | null | undefined,
): RenderedCall['change'] {
  if (typeof path !== 'string') return undefined;
  if (name === 'write_file' && typeof content === 'string')
    return { path, ...(typeof before === 'string' ? { before } : {}), after: content };
  if (name === 'edit_file' && typeof oldText === 'string' && typeof newText === 'string')
    return { path, before: oldText, after: newText };
  return undefined;
}

/**
 * Returns an input as one line: a single string as it is, and anything else as JSON, because the model could otherwise
 * choose which value appears first.
 */
function jsonLine(input: JsonValue): string {
  const values = isObject(input) ? Object.values(input) : [input];
  if (values.length === 0) return '';
  return values.length === 1 && typeof values[0] === 'string' ? values[0] : (JSON.stringify(input) ?? '');
}

function short(text: string): string {
  const line = printable(text.replaceAll(/\r?\n/g, '\\n').replaceAll('\t', ' '));
  return line.length > MAX_TITLE ? `${line.slice(0, MAX_TITLE)} … (${line.length} characters)` : line;
}
