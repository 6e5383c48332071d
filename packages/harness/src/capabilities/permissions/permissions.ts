import {
  type AgentComposition,
  type Capability,
  InvalidInputError,
  type PermissionRule,
  type Tool,
  type Workspace,
} from '@x/core';
import { allOf, isObject, PERMISSION_MODES, parseWith, type WorkspaceConfine, warn } from '@x/core/internal';
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
} from './match-rule.js';
import { type PlainPath, plainPath } from './path-pattern.js';
import { RealPaths } from './real-paths.js';

const NAME = 'permissions';
const SUBJECT = 'permissions configuration';

/**
 * Files that say which programs run: Git starts what its configuration and its hooks name, whoever wrote them. A folder of any name
 * is a repository to it once there is a `HEAD` in it.
 */
const RUN_BY_GIT = ['**/.git', '**/.git/**', '**/HEAD'];

/** Rules as configurations write them. */
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
  /** The mode for calls that no rule is about. A session's own mode outranks it. */
  mode: z.enum(PERMISSION_MODES).default('default'),
  allow: rulesSchema,
  deny: rulesSchema,
  ask: rulesSchema,
  /** Names of the tools that `accept_edits` allows. */
  editTools: z.array(z.string().min(1)).default(['write_file', 'edit_file']),
  /**
   * Paths that `editTools` change only with approval, against every rule that allows it. Default: Git's own files, which say
   * what programs Git starts.
   */
  protect: z.array(z.string().min(1)).default(RUN_BY_GIT),
});

export type PermissionsConfig = z.input<typeof permissionsConfigSchema>;

/**
 * Judges tool calls by rules. `deny` comes before `ask` before `allow`. Calls that no rule is about go by the mode:
 * `default` asks a human for everything but reading, `accept_edits` allows editing files too, `explore` denies all but
 * reading, `bypass` allows all, `dont_ask` denies each call that would be asked. The session's own rules and mode in
 * `state.permissionContext` count as well; an approval for always adds a rule there.
 *
 * A rule for a tool that the agent lacks is a warning in its first call. A name close to that of a tool refuses the build.
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
    // The default names tools that an agent need not have.
    ...(config.editTools ?? []).map((tool, index) => ({ path: `editTools[${index}]`, tool })),
  ]);

  return {
    name: NAME,
    ...references.hooks,
    install(agent) {
      references.hooks.install(agent);
      warnOfCommands(agent, denied);
    },
    confine: ({ state: { permissionContext }, workspace }) =>
      confineBy(
        { deny: [...denied, ...permissionContext.deny], ask: [...wanted, ...permissionContext.ask] },
        workspace,
      ),
    deniesFiles: ({ state: { permissionContext }, workspace }) =>
      [...denied, ...permissionContext.deny]
        .flatMap((rule) => inWorkspace(rule, workspace))
        .flatMap((rule) => fileRuleOf(rule) ?? []),
    unattended: ({ state }) => (state.permissionContext.mode ?? settings.mode) === 'dont_ask',
    async authorize(call, { state, tool, workspace }) {
      // A tool that does not exist does no harm; the loop answers that there is none.
      if (tool === undefined) return undefined;
      const { mode = settings.mode, allow, deny, ask } = state.permissionContext;
      const policy = {
        mode,
        allow: [...allowed, ...allow],
        deny: [...denied, ...deny].flatMap((rule) => inWorkspace(rule, workspace)),
        ask: [...asked, ...ask].flatMap((rule) => inWorkspace(rule, workspace)),
        editTools,
      };
      // No mode objects to reading, and to find all names of a file may take long.
      const rules = [...denied, ...deny, ...wanted, ...ask];
      if (isHarmless(tool, false) && rules.length === 0 && !editTools.includes(call.name)) return undefined;
      const real = new RealPaths(workspace);
      const judged = await judgedCall(call, tool, workspace, [...policy.deny, ...policy.ask], real);
      const found = judge(policy, judged, tool);
      if (found?.type === 'deny') return found;
      const objection =
        found?.type === 'ask' ? { ...found, reason: `${found.reason}${textOfStrangers(state)}` } : found;
      const confine = allOf([confineBy(policy, workspace, tool, real), asJudged(judged, real)]);
      if (confine === undefined) return objection;
      return objection === undefined ? { type: 'confine', confine } : { ...objection, confine };
    },
  };
}

/** The capability that {@link narrowing} makes. */
export const NARROWING = 'narrowing';

/** What an agent goes without, of all that its capabilities and the program bring. */
export const narrowingShape = {
  /** Names of the tools that it has; a name may end in `*`. Default: all. */
  tools: z.array(z.string().min(1)).readonly().optional(),
  /** Rules that deny calls, whatever permissions allow: `execute(rm *)`. */
  deny: rulesSchema.readonly(),
};

export type Narrowing = z.input<z.ZodObject<typeof narrowingShape>>;

/** Tells which tools a list of names keeps. */
export function keptBy(names: Narrowing['tools']): (tool: string) => boolean {
  return (tool) => names === undefined || names.some((name) => matchWildcard(name, tool));
}

/**
 * Makes the capability that denies calls by rules, beside what `permissions` says, and tells of names that no tool has; none where
 * nothing is taken away.
 *
 * @param at The beginning of the paths in errors.
 * @param left Tools that the agent would have without it, beside those of capabilities: names may be slips for these.
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

/**
 * Keeps whoever opens files from those that rules deny. A search opens none that it would have to ask for, nor does a capability,
 * which has no call that could wait.
 */
function confineBy(
  { deny, ask }: Pick<Policy, 'deny' | 'ask'>,
  workspace: Workspace,
  tool?: Tool,
  real = new RealPaths(workspace),
): WorkspaceConfine | undefined {
  const asksNobody = tool === undefined || Object.values(tool.paths ?? {}).includes('walk');
  const rules = [...deny, ...(asksNobody ? ask : [])]
    .flatMap((rule) => inWorkspace(rule, workspace))
    .flatMap((rule) => ({ rule, files: fileRuleOf(rule) }));
  if (rules.every(({ files }) => files === undefined)) return undefined;
  return async (path, use, file) => {
    const names = await real.namesOf(path, file);
    const found = rules.find(({ files }) => files?.use === use && concernsFile(files, names));
    return found && `Denied by the rule ${formatRule(found.rule)}.`;
  };
}

/** Keeps a tool from files that took the place of those that were judged. */
function asJudged({ paths }: JudgedCall, real: RealPaths): WorkspaceConfine | undefined {
  const judged = new Map<string, ReadonlySet<string>>();
  for (const { role, names } of [...paths.values()].flat()) {
    // Which files a search opens is found out as it goes.
    if (role !== 'walk' && names[0]) judged.set(formatPath(names[0]), new Set(names.map(formatPath)));
  }
  if (judged.size === 0) return undefined;
  return async (path, _, file) => {
    const known = file && judged.get(formatPath(plainPath(path)));
    if (known === undefined) return undefined;
    const isJudged = (await real.namesOf(path, file)).every((name) => known.has(formatPath(name)));
    return isJudged
      ? undefined
      : `${JSON.stringify(path)} leads to another file than when the call was judged. Try again.`;
  };
}

function formatPath({ names }: PlainPath): string {
  return names.join('/');
}

/** Agents about whose commands this process was warned. */
const warned = new Set<string>();

/** Warns of rules that deny files beside a tool that runs any program, which opens any file. */
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
    `Agent "${agent.name}": the rule ${formatRule(rule)} does not keep programs that "${name}" runs from these files. Commands that are not ` +
      "understood ask. Run commands in a sandbox, with shell({ sandbox: 'required' }), where the rule holds for every program.",
  );
}

function readRules<List extends 'allow' | 'deny' | 'ask'>(
  settings: Pick<z.output<typeof permissionsConfigSchema>, List>,
  list: List,
): readonly PermissionRule[] {
  return settings[list].map((rule, index) => {
    const path = `${list}[${index}]`;
    if (typeof rule === 'string') return parseRule(rule, path, SUBJECT);
    if (rule.input && Object.keys(rule.input).length === 0) {
      throw new InvalidInputError(SUBJECT, [
        { path: `${path}.input`, message: 'names no argument; leave it out' },
      ]);
    }
    return rule;
  });
}

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
