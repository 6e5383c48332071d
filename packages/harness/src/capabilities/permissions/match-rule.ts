import { realpath } from 'node:fs/promises';
import { relative, resolve } from 'node:path';
import {
  type JsonValue,
  type PermissionRule,
  type Tool,
  type ToolUseBlock,
  type Workspace,
  WorkspaceError,
} from '@x/core';
import { type FileRule, type FileUse, isObject, type PathRole } from '@x/core/internal';
import { matchWildcard } from '../../lib/wildcard.js';
import { MAX_FOUND, pathsOf } from './command-paths.js';
import { allowsCommand, catchesCommand, type Fit } from './command-pattern.js';
import {
  couldMatch,
  coveringPattern,
  folded,
  matchPath,
  type PlainPath,
  pathPattern,
  plainPath,
} from './path-pattern.js';
import { RealPaths } from './real-paths.js';

/** A tool call prepared for matching: its parsed input, and every known name of each path. */
export interface JudgedCall {
  readonly call: ToolUseBlock;
  readonly tool: Tool | undefined;
  /** Arguments that the tool declares as paths, without those that cannot be parsed. */
  readonly paths: ReadonlyMap<string, readonly JudgedPath[]>;
  /** Files that a command line names. Empty if no deny or ask rule is about files. */
  readonly words: readonly PlainPath[];
  /** True if a command line may also open files that it does not name. */
  readonly isUnclear: boolean;
  /** True if a command line may also change files that it does not name. */
  readonly changesAny: boolean;
  /** Directory of the workspace, if it has one. */
  readonly root: string | undefined;
}

interface JudgedPath {
  readonly role: PathRole;
  readonly names: readonly PlainPath[];
}

export const USES: Readonly<Record<PathRole, readonly FileUse[]>> = {
  read: ['read'],
  write: ['write'],
  edit: ['read', 'write'],
  // A search is checked for each file when it opens that file.
  walk: [],
};

interface Condition {
  /** Name of the argument. `undefined` if the tool has no main argument. */
  readonly name: string | undefined;
  readonly pattern: string;
}

/**
 * Collects what rules need to know about a call.
 *
 * @param against The deny and ask rules. Words of a command line are looked up only if one of these rules is about files,
 * because a line may have thousands of words.
 */
export async function judgedCall(
  call: ToolUseBlock,
  tool: Tool | undefined,
  workspace: Workspace,
  against: readonly PermissionRule[],
  real = new RealPaths(workspace),
): Promise<JudgedCall> {
  const paths = new Map<string, readonly JudgedPath[]>();
  for (const [name, role] of Object.entries(tool?.paths ?? {})) {
    const given = textsOf(call, name);
    if (given === undefined) continue;
    // A search without a path starts at the root.
    const texts = given.length === 0 && role === 'walk' ? [''] : given;
    const judged = texts.map(async (text) => ({ role, names: await real.namesOf(text) }));
    paths.set(name, await Promise.all(judged));
  }
  const linked = new Set<string>();
  const directory = await directoryOf(tool, workspace);
  const isAboutFiles = against.some((rule) => fileRuleOf(rule) !== undefined);
  const lines = (isAboutFiles && textsOf(call, 'command')) || [];
  const named = await Promise.all(
    lines.map((line) => pathsOf(line, directory, (path) => filesBelow(path, workspace, linked))),
  );
  const places = [...new Set(named.flatMap((line) => line?.named ?? []).flatMap(placesOf))];
  const words = await Promise.all(places.map((place) => real.namesInShell(place)));
  const found = named.flatMap((line) => line?.found ?? []);
  // Only links have more than one name.
  const reached = found.map((path) => (linked.has(path) ? real.namesOf(path) : [plainPath(path)]));
  return {
    call,
    tool,
    paths,
    root: rootOf(workspace),
    words: [...words.flatMap((names) => names ?? []), ...(await Promise.all(reached)).flat()],
    // In a sandbox that protects denied files (`keepsFiles`), an unknown program cannot open them.
    isUnclear:
      words.includes(undefined) ||
      named.some((each) => !each?.isClear || !(each.isKnown || tool?.keepsFiles)),
    changesAny: !tool?.keepsFiles && named.some((each) => each?.changesAny),
  };
}

/**
 * Returns the files below a directory, or the file itself. Returns `undefined` if there are too many. Adds files that have
 * several names to `linked`.
 */
async function filesBelow(
  path: string,
  workspace: Workspace,
  linked: Set<string>,
): Promise<readonly string[] | undefined> {
  const begin = plainPath(path).names.join('/');
  const found: string[] = [];
  try {
    if (begin !== '' && (await workspace.stat(begin))?.type === 'file') return [begin];
    // A command may follow symbolic links, so walk their targets as well.
    const real = begin === '' ? undefined : (await workspace.identify?.(begin))?.path;
    const places = [...new Set([begin, real ?? begin])];
    for (const place of places)
      for await (const { path: each, type, isLink, hardLinked } of workspace.list(place, {
        recursive: true,
      })) {
        if (isLink || hardLinked !== undefined) linked.add(each);
        if (type !== 'directory' && found.push(each) > MAX_FOUND) return undefined;
        const target = type === 'directory' && isLink ? (await workspace.identify?.(each))?.path : undefined;
        const isKnown = (known: string) => known === '' || `${target}/`.startsWith(`${known}/`);
        if (target !== undefined && !places.some(isKnown)) places.push(target);
      }
  } catch (error) {
    // A path that is not valid is judged by its name. A directory that cannot be listed may contain more files.
    if (!WorkspaceError.isInstance(error) || error.code !== 'invalid_path') return undefined;
  }
  return found;
}

/** Returns the working directory of a tool's commands, relative to the root of the workspace. */
async function directoryOf(tool: Tool | undefined, workspace: Workspace): Promise<string> {
  const root = rootOf(workspace);
  const { directory } = tool ?? {};
  if (directory === undefined || root === undefined) return '';
  const real = (path: string) => realpath(path).catch(() => resolve(path));
  return relative(await real(root), await real(directory));
}

function rootOf(workspace: Workspace): string | undefined {
  const { root } = workspace as { readonly root?: unknown };
  return typeof root === 'string' ? root : undefined;
}

/** Returns a path or pattern relative to the root of a workspace, if it starts with that root. */
function behindRoot(path: string, root: string | undefined): string | undefined {
  return root !== undefined && `${path}/`.startsWith(`${root}/`) ? path.slice(root.length + 1) : undefined;
}

/**
 * Returns the paths that a word may mean. A path that starts outside the workspace may lead back into it: `../x`,
 * `/proc/self/cwd/x`.
 */
function placesOf(word: string): readonly string[] {
  const { names, absolute } = plainPath(word);
  if (!absolute && names[0] !== '..') return [word];
  const steps = word.split('/');
  return [word, ...steps.map((_, index) => steps.slice(index + 1).join('/')).filter((place) => place !== '')];
}

/** Tests if an allow rule is about reading or writing files. */
export function allowsFiles({ tool, match }: PermissionRule): boolean {
  return match !== undefined && (tool === 'read' || tool === 'write');
}

/** Returns the file part of a deny or ask rule, if it has one. `Read` means `read`, and `read` alone means `read(**)`. */
export function fileRuleOf({ tool, match, input }: PermissionRule): FileRule | undefined {
  const use = tool.toLowerCase();
  if ((use !== 'read' && use !== 'write') || (match === undefined && input !== undefined)) return undefined;
  return { use, match: match ?? '**' };
}

/**
 * Returns a deny or ask rule. If its pattern starts with the workspace's directory, adds the same rule with a relative
 * pattern.
 */
export function inWorkspace(rule: PermissionRule, workspace: Workspace): readonly PermissionRule[] {
  const match = behindRoot(rule.match ?? '', rootOf(workspace));
  return match === undefined ? [rule] : [rule, { ...rule, match }];
}

/** Combine the fits of several conditions: `all` returns the worst fit, `any` the best. */
const all = (fits: readonly Fit[]): Fit =>
  fits.includes('no') ? 'no' : fits.includes('perhaps') ? 'perhaps' : 'yes';
const any = (fits: readonly Fit[]): Fit =>
  fits.includes('yes') ? 'yes' : fits.includes('perhaps') ? 'perhaps' : 'no';
const fitOf = (fits: boolean): Fit => (fits ? 'yes' : 'no');

/**
 * Tests if a deny or ask rule applies to a call. Returns `perhaps` for a command line that is not understood. All other
 * doubts count as a match: case is ignored, a search in a directory touches everything in it, any text may be a path,
 * and an argument that cannot be parsed matches.
 */
export function concerns(rule: PermissionRule, judged: JudgedCall): Fit {
  const files = fileRuleOf(rule);
  const used = files === undefined ? 'no' : usesFile(files, judged);
  if (used === 'yes' || !matchWildcard(folded(rule.tool), folded(judged.call.name))) return used;
  const { match } = rule;
  const named = Object.entries(rule.input ?? {}).map(([name, pattern]) => caught({ name, pattern }, judged));
  const main =
    match === undefined
      ? ['yes' as const]
      : mainArguments(judged).map((name) => caught({ name, pattern: match }, judged));
  return any([used, all([...named, any(main)])]);
}

function caught({ name, pattern }: Condition, { call, paths, root }: JudgedCall): Fit {
  const declared = name === undefined ? undefined : paths.get(name);
  if (declared !== undefined) return fitOf(declared.some((path) => concernsPath(pattern, path)));
  const texts = name === undefined ? undefined : textsOf(call, name);
  if (texts === undefined) return 'yes';
  if (name === 'command') return any(texts.map((text) => catchesCommand(pattern, text)));
  const wanted = PATH_NAME.test(name ?? '') ? coveringPattern(pattern) : pathPattern(folded(pattern));
  return fitOf(
    texts.some((text) => matchWildcard(folded(pattern), folded(text)) || isPathOf(wanted, text, root)),
  );
}

/** Tests if a deny or ask rule about files applies to a file with these names. */
export function concernsFile({ match }: FileRule, names: readonly PlainPath[]): boolean {
  const pattern = coveringPattern(match);
  return names.some((name) => matchPath(pattern, foldedPath(name)));
}

/** Tests if a call uses files that a rule is about. A tool without declared paths may use any path in its input. */
function usesFile(
  rule: FileRule,
  { call, tool, paths, words, isUnclear, changesAny, root }: JudgedCall,
): Fit {
  const { use, match } = rule;
  if (tool?.paths !== undefined) {
    if (Object.keys(tool.paths).some((name) => !paths.has(name))) return 'yes';
    const used = [...paths.values()].flat().filter(({ role }) => USES[role].includes(use));
    return fitOf(used.some(({ names }) => concernsFile(rule, names)));
  }
  if (tool?.sessionOnly || (use === 'write' && tool?.readOnly)) return 'no';
  const wanted = coveringPattern(match);
  const isNamed =
    concernsFile(rule, words) || stringsIn(call.input).some((text) => isPathOf(wanted, text, root));
  return isNamed ? 'yes' : isUnclear || (use === 'write' && changesAny) ? 'perhaps' : 'no';
}

function isPathOf(wanted: PlainPath, text: string, root: string | undefined): boolean {
  const given = text.trim().replaceAll('\\', '/');
  return [given, behindRoot(given, root) ?? given].some((path) => matchPath(wanted, plainPath(folded(path))));
}

function concernsPath(pattern: string, { role, names }: JudgedPath): boolean {
  const wanted = coveringPattern(pattern);
  const fits = role === 'walk' ? [matchPath, couldMatch] : [matchPath];
  return names.some((name) => fits.some((fit) => fit(wanted, foldedPath(name))));
}

/**
 * Tests if allow rules cover a call. Any doubt counts as no match. Several rules together may cover the commands of one
 * command line; every other call needs one rule that covers it.
 */
export function covers(rules: readonly PermissionRule[], judged: JudgedCall): boolean {
  const { call, tool } = judged;
  const commands: string[] = [];
  for (const rule of rules) {
    if (rule.fingerprint !== undefined && rule.fingerprint !== tool?.fingerprint) continue;
    if (allowsFiles(rule) && coversFiles(rule, judged)) return true;
    if (!matchWildcard(rule.tool, call.name)) continue;
    const conditions = conditionsOf(rule, judged);
    if (saysMore(judged, rule, conditions)) continue;
    if (conditions.every((condition) => isCovered(condition, judged))) return true;
    const [only, ...others] = conditions;
    if (only?.name === 'command' && others.length === 0) commands.push(only.pattern);
  }
  const lines = textsOf(call, 'command') ?? [];
  return commands.length > 0 && lines.length > 0 && lines.every((line) => allowsCommand(commands, line));
}

/**
 * Tests if a call has an argument that neither the tool's schema nor the rule names. The author of the rule could not
 * know about it. A rule with the input `{}` allows only arguments that the schema names.
 */
function saysMore(
  { call, tool }: JudgedCall,
  { input }: PermissionRule,
  conditions: readonly Condition[],
): boolean {
  if (input === undefined || !isObject(call.input)) return false;
  const names = Object.keys(call.input).filter((key) => conditions.every(({ name }) => name !== key));
  if (names.length === 0) return false;
  const known = namedIn(tool?.definition.inputSchema);
  return names.some((name) => !known.has(name));
}

/** Returns the arguments that a schema names, including those of its subschemas. */
export function namedIn(
  schema: unknown,
  root = schema,
  names = new Set<string>(),
  seen = new Set<unknown>(),
): ReadonlySet<string> {
  if (!isObject(schema) || seen.has(schema)) return names;
  seen.add(schema);
  if (isObject(schema.properties)) for (const name of Object.keys(schema.properties)) names.add(name);
  const path =
    typeof schema.$ref === 'string' && schema.$ref.startsWith('#/') ? schema.$ref.slice(2).split('/') : [];
  const target = path.reduce<unknown>((part, key) => (isObject(part) ? part[key] : undefined), root);
  const parts = [schema.allOf, schema.anyOf, schema.oneOf].flatMap((list) =>
    Array.isArray(list) ? list : [],
  );
  for (const part of [...parts, path.length > 0 && target, schema.if, schema.then, schema.else])
    namedIn(part, root, names, seen);
  return names;
}

/** Tests if a file rule such as `write(src/**)` covers a call, which must do nothing but use files there. */
function coversFiles(rule: PermissionRule, { tool, paths }: JudgedCall): boolean {
  const used = [...paths.values()].flat();
  return (
    !tool?.destructive &&
    used.length > 0 &&
    used.every((path) => USES[path.role].at(-1) === rule.tool && coversPath(rule.match ?? '', path))
  );
}

function isCovered({ name, pattern }: Condition, { call, paths }: JudgedCall): boolean {
  const declared = name === undefined ? undefined : paths.get(name);
  if (declared !== undefined) {
    return declared.length > 0 && declared.every((path) => coversPath(pattern, path));
  }
  const texts = name === undefined ? undefined : textsOf(call, name);
  if (name === undefined || texts === undefined || texts.length === 0) return false;
  return texts.every((text) => {
    if (name === 'command') return allowsCommand([pattern], text);
    const isPath = PATH_NAME.test(name) || (pattern.includes('/') && !pattern.includes('://'));
    return isPath ? coversText(pattern, text) : matchWildcard(pattern, text);
  });
}

function coversPath(pattern: string, { names }: JudgedPath): boolean {
  const wanted = pathPattern(pattern);
  return names.every((name) => name.names[0] !== '..' && matchPath(wanted, name));
}

/**
 * Names of arguments that are paths in tools that declare none, such as MCP tools. A rule can also mark a path by its
 * pattern.
 */
export const PATH_NAME = /^(?:.+_)?(?:path|file|dir|directory)s?$|(?:Path|File|Dir|Directory)s?$/;

function coversText(pattern: string, text: string): boolean {
  const path = plainPath(text);
  if (text.includes('\\') || pathPattern(pattern).absolute !== path.absolute) return false;
  return coversPath(pattern, { role: 'read', names: [path] });
}

function conditionsOf({ match, input }: PermissionRule, judged: JudgedCall): readonly Condition[] {
  const named = Object.entries(input ?? {}).map(([name, pattern]) => ({ name, pattern }));
  return match === undefined ? named : [{ name: mainArgument(judged), pattern: match }, ...named];
}

function foldedPath({ names, absolute }: PlainPath): PlainPath {
  return { names: names.map(folded), absolute };
}

const MAIN = ['command', 'path', 'file_path'];

/**
 * Returns the argument that `tool(pattern)` is about: `command`, `path` or `file_path`, or else the first declared
 * path. The tool's paths and schema decide, so that a call cannot replace it with an extra argument.
 */
export function mainArgument({ tool }: JudgedCall): string | undefined {
  const { properties } = tool?.definition.inputSchema ?? {};
  const { paths } = tool ?? {};
  return (
    MAIN.find((name) => has(paths, name) || (name === 'command' && has(properties, name))) ??
    Object.keys(paths ?? {})[0] ??
    MAIN.find((name) => has(properties, name))
  );
}

/**
 * Returns the arguments that `tool(pattern)` in a deny rule may be about: the arguments that the tool declares, and further ones of
 * the call. If the tool declares no arguments, returns all arguments of the call.
 */
function mainArguments(judged: JudgedCall): readonly (string | undefined)[] {
  const { call, tool } = judged;
  const main = mainArgument(judged);
  const given = [...Object.keys(tool?.paths ?? {}), ...MAIN].filter((name) => has(call.input, name));
  if (main !== undefined) return [...new Set([main, ...given])];
  return given.length > 0 ? Object.keys(isObject(call.input) ? call.input : {}) : [undefined];
}

/**
 * Returns an argument as texts: every item of a list, and an empty list for a missing argument. Returns `undefined` for
 * any other value.
 */
export function textsOf(call: ToolUseBlock, name: string): readonly string[] | undefined {
  const value = has(call.input, name) ? call.input[name] : undefined;
  if (value === undefined || value === null) return [];
  const texts = (Array.isArray(value) ? value : [value]).map((item) =>
    typeof item === 'object' ? undefined : String(item),
  );
  return texts.some((text) => text === undefined) ? undefined : (texts as readonly string[]);
}

function stringsIn(value: JsonValue): readonly string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.entries(value).flat().flatMap(stringsIn) : [];
}

function has(value: JsonValue | undefined, name: string): value is { [key: string]: JsonValue } {
  return isObject(value) && Object.hasOwn(value, name);
}
