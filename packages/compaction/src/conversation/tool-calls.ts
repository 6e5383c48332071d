import type { ToolUseBlock } from '@x/core';
import { isObject } from './marks.js';

const PATH_KEYS = [
  'path',
  'file_path',
  'filePath',
  'absolute_path',
  'relative_path',
  'file',
  'filename',
  'notebook_path',
  'target_file',
  'directory',
  'paths',
  'files',
];
/** Of a call that names many files, so many are remembered. */
const MOST_PATHS = 20;
const RANGE_KEYS = [
  'offset',
  'limit',
  'charOffset',
  'startLine',
  'endLine',
  'start_line',
  'end_line',
  'view_range',
  'line_range',
];
const COMMAND_KEYS = ['command', 'cmd', 'script'];

/** The file that a tool call is about, judged by the usual names of arguments; of several the first. */
export function pathOf(call: Pick<ToolUseBlock, 'input'>): string | undefined {
  return pathsOf(call)[0];
}

/** The files that a tool call is about. */
export function pathsOf({ input }: Pick<ToolUseBlock, 'input'>): readonly string[] {
  if (!isObject(input)) return [];
  for (const key of PATH_KEYS) {
    const value = input[key];
    if (typeof value === 'string' && value.trim()) return [value];
    if (!Array.isArray(value) || value.length === 0) continue;
    const paths = value.filter((path) => typeof path === 'string');
    if (paths.length === value.length) return paths.slice(0, MOST_PATHS);
  }
  return [];
}

/** The part of a file that a tool call asks for, by the usual names of arguments: `(offset 10, limit 50)`. */
export function rangeOf(call: Pick<ToolUseBlock, 'input'>): string | undefined {
  const input = call.input;
  if (!isObject(input)) return undefined;
  const parts = RANGE_KEYS.flatMap((key) => {
    const value = input[key];
    if (typeof value === 'number') return [`${key} ${value}`];
    const isPair =
      Array.isArray(value) && value.length === 2 && value.every((end) => typeof end === 'number');
    return isPair ? [`${key} ${value.join('–')}`] : [];
  });
  return parts.length > 0 ? `(${parts.join(', ')})` : undefined;
}

/** The command line that a tool call runs. */
export function commandOf(call: Pick<ToolUseBlock, 'input'>): string | undefined {
  const input = call.input;
  if (!isObject(input)) return undefined;
  for (const key of COMMAND_KEYS) {
    const value = input[key];
    if (typeof value === 'string' && value.trim()) return value;
    if (Array.isArray(value) && value.every((part) => typeof part === 'string')) return value.join(' ');
  }
  return undefined;
}
