import type { JsonValue, ToolUseBlock } from '@x/core';
import { isObject } from './message-marks.js';

const PATH_KEYS = [
  'path',
  'file_path',
  'filePath',
  'file',
  'filename',
  'notebook_path',
  'target_file',
  'directory',
];
const COMMAND_KEYS = ['command', 'cmd', 'script'];

/** The file that a tool call is about, judged by the usual names of arguments. */
export function pathOf(call: Pick<ToolUseBlock, 'input'>): string | undefined {
  return firstText(call.input, PATH_KEYS);
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

function firstText(input: JsonValue, keys: readonly string[]): string | undefined {
  if (!isObject(input)) return undefined;
  for (const key of keys) {
    const value = input[key];
    if (typeof value === 'string' && value.trim()) return value;
  }
  return undefined;
}
