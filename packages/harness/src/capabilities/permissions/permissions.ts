import {
  type AgentComposition,
  type Capability,
  InvalidInputError,
  type PermissionRule,
  type Tool,
  type Workspace,
} from '@x/core';
import {
  type FileUse,
  isObject,
  PERMISSION_MODES,
  parseWith,
  type WorkspaceConfine,
  warn,
} from '@x/core/internal';
import * as z from 'zod';
import { type ToolReference, ToolReferences } from '../../agent/tool-references.js';
import { formatRule, parseRule } from '../../lib/permission-rule.js';
import { matchWildcard } from '../../lib/wildcard.js';
import { isHarmless, judge, type Policy, textOfStrangers } from './judge.js';
import {
  allowsFiles,
  concernsFile,
  fileRuleOf,
  inWorkspace,
  type JudgedCall,
  judgedCall,
  PATH_NAME,
  USES,
} from './match-rule.js';
import { type PlainPath, plainPath } from './path-pattern.js';
import { RealPaths } from './real-paths.js';

const NAME = 'permissions';
const SUBJECT = 'permissions configuration';

/**
 * Files that determine which programs Git starts, through its configuration and hooks. Git treats any folder with a
 * `HEAD` file as a possible repository.
 */
const RUN_BY_GIT = ['**/.git', '**/.git/**', '**/HEAD'];

/** Rules as they are written in a configuration. */
const rulesSchema = z
  .array(
    z.union([
      z.string(),
      z.strictObject({
        tool: z.string().min(1),
        match: z.string().min(1).optional(),
        input: z.record(z.string(), z.string()).optional(),
      }),
    ]),
  )
  .default([]);

export const permissionsConfigSchema = z.strictObject({
  /** Mode for calls that no rule matches. A session's own mode overrides it. */
  mode: z.enum(PERMISSION_MODES).default('default'),
  allow: rulesSchema,
  deny: rulesSchema,
  ask: rulesSchema,
  /** Names of the tools that `accept_edits` allows. */
  editTools: z.array(z.string().min(1)).default(['write_file', 'edit_file']),
  /**
   * Paths that `editTools` may change only with approval, even if a rule allows it. Default: Git's own files, which
   * determine which programs Git starts.
   */
  protect: z.array(z.string().min(1)).default(RUN_BY_GIT),
});

export type PermissionsConfig = z.input<typeof permissionsConfigSchema>;

/**
 * Judges tool calls by rules: `deny` before `ask` before `allow`. If no rule matches a call, the mode decides:
 * `default` allows reading and the session's own notes, and asks a human about all other calls; `accept_edits` also allows
 * editing files; `explore` denies everything but reading and the session's own notes; `bypass` allows everything;
 * `dont_ask` denies every call that would need approval. Rules and mode in the session's `state.permissionContext` apply as
 * well. An approval with `always` adds a rule there.
 *
 * A rule for a tool that the agent lacks causes a warning in the first call. If its name is close to that of an
 * existing tool, the build fails.
 *
 * @example
 * ```ts
 * import { HarnessAgent, permissions, shell, workspaceTools } from '@x/harness';
 *
 * const agent = HarnessAgent.builder()
 *   .model(model)
 *   .use(shell(), workspaceTools())
 *   .use(permissions({ allow: ['execute(git status*)'], ask: ['execute(git push*)'], deny: ['read_file(.env)'] }))
 *   .build();
 * ```
 * @throws {InvalidInputError} naming every unknown key and malformed rule.
 */
export function permissions(config: PermissionsConfig = {}): Capability {
  const settings = parseWith(permissionsConfigSchema, config, SUBJECT);
  const { editTools, protect } = settings;
  const allowed = readRules(settings, 'allow');
  const denied = readRules(settings, 'deny');
  const wanted = readRules(settings, 'ask');
  const asked = [...wanted, ...editTools.flatMap((tool) => protect.map((match) => ({ tool, match })))];
  const references = new ToolReferences(NAME, [
    ...referencesOf('allow', allowed),
    ...referencesOf('deny', denied),
    ...referencesOf('ask', wanted),
    // The default lists tools that an agent may not have.
    ...(config.editTools ?? []).map((tool, index) => ({ path: `editTools[${index}]`, tool })),
  ]);

  return {
    name: NAME,
    ...references.hooks,
    install(agent) {
      references.hooks.install(agent);
      warnOfCommands(agent, denied);
    },
    confine: (scope) => {
      const { deny, ask } = scope.state.permissionContext;
      // For a tool call, `authorize` returns its own check of the files that `ask` rules are about.
      const wants = 'tool' in scope ? [] : [...wanted, ...ask];
      return confineBy({ deny: [...denied, ...deny], ask: wants }, scope.workspace);
    },
    deniesFiles: ({ state: { permissionContext }, workspace }) =>
      [...denied, ...permissionContext.deny]
        .flatMap((rule) => inWorkspace(rule, workspace))
        .flatMap((rule) => fileRuleOf(rule) ?? []),
    unattended: ({ state }) => (state.permissionContext.mode ?? settings.mode) === 'dont_ask',
    async authorize(call, { state, tool, workspace }) {
      // The loop itself answers a call of an unknown tool.
      if (tool === undefined) return undefined;
      const { mode = settings.mode, allow, deny, ask } = state.permissionContext;
      const policy = {
        mode,
        allow: [...allowed, ...allow],
        deny: [...denied, ...deny].flatMap((rule) => inWorkspace(rule, workspace)),
        ask: [...asked, ...ask].flatMap((rule) => inWorkspace(rule, workspace)),
        editTools,
      };
      // No mode objects to reading, and finding all names of a file may take long.
      const rules = [...denied, ...deny, ...wanted, ...ask];
      if (isHarmless(tool, false) && rules.length === 0 && !editTools.includes(call.name)) return undefined;
      const real = new RealPaths(workspace);
      const judged = await judgedCall(call, tool, workspace, [...policy.deny, ...policy.ask], real);
      const found = judge(policy, judged, tool);
      if (found?.type === 'deny') return found;
      const objection =
        found?.type === 'ask' ? { ...found, reason: `${found.reason}${textOfStrangers(state)}` } : found;
      // If the tool declares no paths, the approval of the call covers all files that it opens.
      const asking = tool.paths === undefined && found?.type === 'ask' ? [] : policy.ask;
      const confine = confineBy({ ...policy, ask: asking }, workspace, real, filesOf(judged));
      if (confine === undefined) return objection;
      return objection === undefined ? { type: 'confine', confine } : { ...objection, confine };
    },
  };
}

/** Name of the capability that {@link narrowing} creates. */
export const NARROWING = 'narrowing';

/** Restrictions of an agent, on top of its capabilities and its program. */
export const narrowingShape = {
  /** Names of the tools to keep; a name may end in `*`. Default: all. */
  tools: z.array(z.string().min(1)).readonly().optional(),
  /** Rules that deny calls even if permissions allow them: `execute(rm *)`. */
  deny: rulesSchema.readonly(),
};

export type Narrowing = z.input<z.ZodObject<typeof narrowingShape>>;

/** Returns a function that tests if a list of names keeps a tool. */
export function keptBy(names: Narrowing['tools']): (tool: string) => boolean {
  return (tool) => names === undefined || names.some((name) => matchWildcard(name, tool));
}

/**
 * Creates the capability that denies calls by rules in addition to `permissions`, and reports names of unknown tools.
 * Returns an empty list if nothing is restricted.
 *
 * @param at Prefix of the paths in errors.
 * @param left Tools that the agent would have without the restriction, besides those of capabilities. Typos are checked
 * against them.
 * @throws {InvalidInputError} naming every malformed rule.
 */
export function narrowing(
  { tools = [], deny = [] }: Narrowing,
  at = '',
  left: readonly Tool[] = [],
): readonly Capability[] {
  if (tools.length + deny.length === 0) return [];
  const denied = readRules({ deny: [...deny] }, 'deny');
  const references = [
    ...tools.map((tool, index) => ({ path: `tools[${index}]`, tool })),
    ...referencesOf('deny', denied),
  ];
  const { hooks } = new ToolReferences(NARROWING, references, at);
  const install: typeof hooks.install = (agent) =>
    hooks.install({ ...agent, tools: [...left, ...agent.tools] });
  return [{ ...permissions({ mode: 'bypass', deny: [...deny] }), name: NARROWING, ...hooks, install }];
}

/** The names of a judged file, and the uses that it was judged for. */
interface JudgedFile {
  readonly names: ReadonlySet<string>;
  readonly uses: readonly FileUse[];
}

/**
 * Returns a check that refuses to open files that rules deny. Files of `ask` rules are refused as well, because searches and capabilities
 * cannot wait for approval, unless the call was judged by the same use of the same file.
 *
 * @param judged The files by which the call was judged. If another file has replaced one of them since, the check refuses it.
 */
function confineBy(
  { deny, ask }: Pick<Policy, 'deny' | 'ask'>,
  workspace: Workspace,
  real = new RealPaths(workspace),
  judged: ReadonlyMap<string, JudgedFile> = new Map(),
): WorkspaceConfine | undefined {
  const ruled = (rules: readonly PermissionRule[]) =>
    rules
      .flatMap((rule) => inWorkspace(rule, workspace))
      .flatMap((rule) => {
        const files = fileRuleOf(rule);
        return files === undefined ? [] : [{ rule, files }];
      });
  const [denying, asking] = [ruled(deny), ruled(ask)];
  if (denying.length + asking.length + judged.size === 0) return undefined;
  return async (path, use, file) => {
    const names = await real.namesOf(path, file);
    const known = judged.get(formatPath(plainPath(path)));
    const rules = known?.uses.includes(use) ? denying : [...denying, ...asking];
    const found = rules.find(({ files }) => files.use === use && concernsFile(files, names));
    if (found) return `Denied by the rule ${formatRule(found.rule)}.`;
    return !file || known === undefined || names.every((name) => known.names.has(formatPath(name)))
      ? undefined
      : `${JSON.stringify(path)} leads to another file than when the call was judged. Try again.`;
  };
}

/** Returns the files by which a call was judged. A search does not know its files in advance. */
function filesOf({ paths }: JudgedCall): ReadonlyMap<string, JudgedFile> {
  const judged = new Map<string, JudgedFile>();
  for (const { role, names } of [...paths.values()].flat()) {
    const [name] = names;
    if (role === 'walk' || name === undefined) continue;
    const known = judged.get(formatPath(name))?.uses ?? [];
    judged.set(formatPath(name), { names: new Set(names.map(formatPath)), uses: [...known, ...USES[role]] });
  }
  return judged;
}

function formatPath({ names }: PlainPath): string {
  return names.join('/');
}

/** Names of agents for which this process has printed the warning about commands. */
const warned = new Set<string>();

/** Warns if rules deny files but a tool can run any program, which may open those files. */
function warnOfCommands(agent: AgentComposition, denied: readonly PermissionRule[]): void {
  const rule = denied.find((each) => fileRuleOf(each) !== undefined);
  const tools = [...agent.tools, ...agent.capabilities.flatMap((each) => each.tools ?? [])];
  const open = tools.find(({ keepsFiles, paths, definition: { inputSchema } }) => {
    const { properties } = inputSchema;
    return !keepsFiles && paths === undefined && isObject(properties) && 'command' in properties;
  });
  if (rule === undefined || open === undefined || warned.has(agent.name)) return;
  warned.add(agent.name);
  const { name } = open.definition;
  warn(
    `Agent "${agent.name}": the rule ${formatRule(rule)} does not prevent programs that "${name}" runs from opening these files. Command lines that ` +
      "cannot be analyzed need approval. To enforce the rule for every program, run commands in a sandbox: shell({ sandbox: 'required' }).",
  );
}

function readRules<List extends 'allow' | 'deny' | 'ask'>(
  settings: Pick<z.output<typeof permissionsConfigSchema>, List>,
  list: List,
): readonly PermissionRule[] {
  return settings[list].map((rule, index) => {
    const path = `${list}[${index}]`;
    const parsed = typeof rule === 'string' ? parseRule(rule, path, SUBJECT) : rule;
    if (parsed.input && Object.keys(parsed.input).length === 0) {
      throw new InvalidInputError(SUBJECT, [
        { path: `${path}.input`, message: 'must name at least one argument; otherwise omit it' },
      ]);
    }
    const paths = Object.entries(parsed.input ?? {}).map(([name, text]) => PATH_NAME.test(name) && text);
    const texts = [parsed.match, ...paths].map((text) => text || '');
    const [, mistake] = MISTAKES.find(([form]) => texts.some((text) => form.test(text))) ?? [];
    // In a command line, these characters are literal.
    if (mistake === undefined || (list === 'allow' && !allowsFiles(parsed))) return parsed;
    throw new InvalidInputError(SUBJECT, [{ path, message: `${formatRule(parsed)} ${mistake}` }]);
  });
}

/** Forms of patterns that are probably mistakes, each with the end of an error message that says how to correct it. */
const MISTAKES = [
  [/^\s|(?<!\\)\s$/, 'has a pattern that begins or ends with a blank: remove the blank, or write "\\ "'],
  [
    /(?<!\\)\{[^{},]*,[^{}]*\}/,
    'contains {…,…}, which is not a wildcard: write a rule for each name, or \\{ for the character {',
  ],
  [
    /^~(?:\/|$)/,
    'begins with ~, which is not the home directory here: write the full path, or \\~ for the character ~',
  ],
] as const;

function referencesOf(
  list: 'allow' | 'deny' | 'ask',
  rules: readonly PermissionRule[],
): readonly ToolReference[] {
  const isAboutFiles =
    list === 'allow' ? allowsFiles : (rule: PermissionRule) => fileRuleOf(rule) !== undefined;
  return rules.flatMap((rule, index) =>
    isAboutFiles(rule) ? [] : [{ path: `${list}[${index}]`, tool: rule.tool, anyCase: list !== 'allow' }],
  );
}
