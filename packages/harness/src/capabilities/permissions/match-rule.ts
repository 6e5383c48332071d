import { isObject, type JsonValue, type PermissionRule, type Tool, type ToolUseBlock } from '@x/core';
import { allowsCommand, catchesCommand } from './command-pattern.js';
import { matchPath, mayHold, pathPattern, plainPath } from './path-pattern.js';
import { matchWildcard } from './wildcard.js';

/** Tools of the workspace, for which a leading `/` means the root; and those that read all that is in a directory. */
const ROOTED = new Set(['read_file', 'write_file', 'edit_file', 'list_files', 'glob_files', 'grep_files']);
const WALKING = new Set(['list_files', 'glob_files', 'grep_files']);

interface Condition {
  /** `undefined` when the tool has no main argument. */
  readonly name: string | undefined;
  readonly pattern: string;
}

/**
 * Tells whether a rule that denies or asks applies to a call. In doubt it does: upper and lower case are the same, a search
 * in a directory touches everything in it, and an argument that cannot be judged is taken to fit.
 */
export function concerns(rule: PermissionRule, call: ToolUseBlock, tool: Tool | undefined): boolean {
  if (!matchWildcard(folded(rule.tool), folded(call.name))) return false;
  return conditionsOf(rule, call, tool).every(({ name, pattern }) => {
    const texts = name === undefined ? undefined : textsOf(call, name);
    if (name === undefined || texts === undefined) return true;
    const kind = kindOf(name);
    if (kind === 'path') {
      return (texts.length === 0 ? [''] : texts).some((text) => concernsPath(pattern, text, call.name));
    }
    const matches = kind === 'command' ? catchesCommand : matchWildcard;
    return texts.some((text) => matches(folded(pattern), folded(text)));
  });
}

/**
 * Tells whether rules that allow cover a call. In doubt they do not. Several rules together may cover the commands of one
 * command line; anything else needs one rule.
 */
export function covers(
  rules: readonly PermissionRule[],
  call: ToolUseBlock,
  tool: Tool | undefined,
): boolean {
  const commands: string[] = [];
  for (const rule of rules) {
    if (!matchWildcard(rule.tool, call.name)) continue;
    const conditions = conditionsOf(rule, call, tool);
    if (conditions.every((condition) => isCovered(condition, call))) return true;
    const [only, ...others] = conditions;
    if (only?.name === 'command' && others.length === 0) commands.push(only.pattern);
  }
  const lines = textsOf(call, 'command') ?? [];
  return commands.length > 0 && lines.length > 0 && lines.every((line) => allowsCommand(commands, line));
}

function isCovered({ name, pattern }: Condition, call: ToolUseBlock): boolean {
  const texts = name === undefined ? undefined : textsOf(call, name);
  if (name === undefined || texts === undefined || texts.length === 0) return false;
  const kind = kindOf(name);
  return texts.every((text) => {
    if (kind === 'command') return allowsCommand([pattern], text);
    return kind === 'path' ? coversPath(pattern, text, call.name) : matchWildcard(pattern, text);
  });
}

function concernsPath(pattern: string, text: string, toolName: string): boolean {
  const wanted = pathPattern(folded(pattern));
  const path = plainPath(folded(text).replaceAll('\\', '/'));
  return matchPath(wanted, path) || (WALKING.has(toolName) && mayHold(wanted, path));
}

function coversPath(pattern: string, text: string, toolName: string): boolean {
  const wanted = pathPattern(pattern);
  const path = plainPath(text);
  if (text.includes('\\') || path.names[0] === '..') return false;
  if (!ROOTED.has(toolName) && wanted.absolute !== path.absolute) return false;
  return matchPath(wanted, path);
}

function conditionsOf(
  { match, input }: PermissionRule,
  call: ToolUseBlock,
  tool: Tool | undefined,
): readonly Condition[] {
  const named = Object.entries(input ?? {}).map(([name, pattern]) => ({ name, pattern }));
  return match === undefined ? named : [{ name: mainArgument(call, tool), pattern: match }, ...named];
}

/** File systems differ in whether case and composition of letters matter: to them that must not be got around, neither does. */
function folded(text: string): string {
  return text.normalize('NFC').toLowerCase();
}

/** The way patterns read an argument: as commands for a shell, as a path, or as any text. */
type ArgumentKind = 'command' | 'path' | 'text';

const MAIN = ['command', 'path', 'file_path'];
const PATH = /^(?:.+_)?(?:path|file|dir|directory)s?$|(?:Path|File|Dir|Directory)s?$/;

function kindOf(name: string): ArgumentKind {
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
  return isObject(value) && Object.hasOwn(value, name);
}
