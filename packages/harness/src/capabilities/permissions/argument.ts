import type { JsonValue, Tool, ToolUseBlock } from '@x/core';

/** How patterns read an argument: as commands for a shell, as a path, or as any text. */
export type ArgumentKind = 'command' | 'path' | 'text';

const MAIN = ['command', 'path', 'file_path'];
const PATH = /^(?:.+_)?(?:path|file|dir|directory)s?$|(?:Path|File|Dir|Directory)s?$/;

export function kindOf(name: string): ArgumentKind {
  if (name === 'command') return 'command';
  return PATH.test(name) ? 'path' : 'text';
}

/** The argument that `tool(pattern)` is about: `command`, else `path`, else `file_path`. */
export function mainArgument(call: ToolUseBlock, tool: Tool | undefined): string | undefined {
  const { properties } = tool?.definition.inputSchema ?? {};
  return MAIN.find((name) => has(call.input, name)) ?? MAIN.find((name) => has(properties, name));
}

/** The texts that an argument consists of: of a list, all; none when it is left out; `undefined` for anything else. */
export function textsOf(call: ToolUseBlock, name: string): readonly string[] | undefined {
  const value = has(call.input, name) ? call.input[name] : undefined;
  if (value === undefined || value === null) return [];
  const texts = (Array.isArray(value) ? value : [value]).map((item) =>
    typeof item === 'object' ? undefined : String(item),
  );
  return texts.some((text) => text === undefined) ? undefined : (texts as readonly string[]);
}

function has(value: JsonValue | undefined, name: string): value is { [key: string]: JsonValue } {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && Object.hasOwn(value, name);
}
