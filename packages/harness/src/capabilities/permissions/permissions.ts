import {
  type Capability,
  InvalidInputError,
  PERMISSION_MODES,
  type PermissionRule,
  parseWith,
} from '@x/core';
import { z } from 'zod';
import { type ToolReference, ToolReferences } from '../../agent/tool-references.js';
import { judge } from './judge.js';
import { parseRule } from './rule.js';

const NAME = 'permissions';
const SUBJECT = 'permissions configuration';

const OWN_FILES = ['', 'users/*/', 'tenants/*/', 'tenants/*/users/*/'].flatMap((owner) =>
  ['context', 'sessions', 'tasks'].map((folder) => `${owner}agents/*/${folder}/**`),
);

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
  /** What happens to calls that no rule is about. A session's own mode outranks it. */
  mode: z.enum(PERMISSION_MODES).default('default'),
  allow: rulesSchema,
  deny: rulesSchema,
  ask: rulesSchema,
  /** Names of the tools that `accept_edits` allows. */
  editTools: z.array(z.string().min(1)).default(['write_file', 'edit_file']),
  /**
   * Paths that `editTools` change only with approval, whatever allows it. Default: where the harness keeps sessions, their
   * logs and tasks, so that an agent cannot give itself permissions.
   */
  protect: z.array(z.string().min(1)).default(OWN_FILES),
});

export type PermissionsConfig = z.input<typeof permissionsConfigSchema>;

/**
 * Rules for tool calls. `deny` comes before `ask` before `allow`; what none is about goes by the mode: `default` asks a
 * human for everything but reading, `accept_edits` allows editing files too, `explore` denies all but reading, `bypass`
 * allows all, `dont_ask` denies what would be asked. The session's own rules and mode in `state.permissionContext` count
 * as well; an approval for always adds one.
 *
 * A rule about a tool that the agent does not have is reported by a warning in its first call; one whose name is close to
 * that of a tool keeps the agent from being built.
 *
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
    install: (agent) => references.install(agent),
    aroundCall(scope, next) {
      references.warn(scope);
      return next();
    },
    authorize(call, { state, tool }) {
      // A tool that does not exist harms nobody: the model is told so.
      if (tool === undefined) return undefined;
      const { mode = settings.mode, allow, deny, ask } = state.permissionContext;
      const policy = {
        mode,
        allow: [...allowed, ...allow],
        deny: [...denied, ...deny],
        ask: [...asked, ...ask],
        editTools,
      };
      return judge(policy, call, tool);
    },
  };
}

function readRules(
  settings: z.output<typeof permissionsConfigSchema>,
  list: 'allow' | 'deny' | 'ask',
): readonly PermissionRule[] {
  return settings[list].map((rule, index) => {
    const path = `${list}[${index}]`;
    if (typeof rule === 'string') return parseRule(rule, path, SUBJECT);
    const { tool, match, input } = rule;
    if (input && Object.keys(input).length === 0) {
      throw new InvalidInputError(SUBJECT, [
        { path: `${path}.input`, message: 'names no argument; leave it out' },
      ]);
    }
    return { tool, ...(match === undefined ? {} : { match }), ...(input === undefined ? {} : { input }) };
  });
}

function referencesOf(
  list: 'allow' | 'deny' | 'ask',
  rules: readonly PermissionRule[],
): readonly ToolReference[] {
  return rules.map(({ tool }, index) => ({ path: `${list}[${index}]`, tool, anyCase: list !== 'allow' }));
}
