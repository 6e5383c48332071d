import { type Capability, InvalidInputError, type PermissionRule, parseWith } from '@x/core';
import { z } from 'zod';
import { judge } from './judge.js';
import { parseRule } from './rule.js';

const SUBJECT = 'permissions configuration';

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

const configSchema = z.strictObject({
  /** What happens to calls that no rule is about. A session's own mode outranks it. */
  mode: z.enum(['default', 'accept_edits', 'explore', 'bypass', 'dont_ask']).default('default'),
  allow: rulesSchema,
  deny: rulesSchema,
  ask: rulesSchema,
  /** Names of the tools that `accept_edits` allows. */
  editTools: z.array(z.string().min(1)).default(['write_file', 'edit_file']),
});

export type PermissionsConfig = z.input<typeof configSchema>;

/**
 * Rules for tool calls. `deny` comes before `ask` before `allow`; what none is about goes by the mode: `default` asks a
 * human for everything but reading, `accept_edits` allows editing files too, `explore` denies all but reading, `bypass`
 * allows all, `dont_ask` denies what would be asked. The session's own rules and mode in `state.permissionContext` count
 * as well; an approval for always adds one.
 *
 * @throws {InvalidInputError} naming every unknown key and malformed rule.
 */
export function permissions(config: PermissionsConfig = {}): Capability {
  const settings = parseWith(configSchema, config, SUBJECT);
  const rules = {
    allow: readRules(settings, 'allow'),
    deny: readRules(settings, 'deny'),
    ask: readRules(settings, 'ask'),
  };
  return {
    name: 'permissions',
    authorize(call, { state, tool }) {
      // A tool that does not exist harms nobody: the model is told so.
      if (tool === undefined) return undefined;
      const { mode = settings.mode, allow, deny, ask } = state.permissionContext;
      return judge(
        {
          mode,
          allow: [...rules.allow, ...allow],
          deny: [...rules.deny, ...deny],
          ask: [...rules.ask, ...ask],
          editTools: settings.editTools,
        },
        call,
        tool,
      );
    },
  };
}

function readRules(
  settings: z.output<typeof configSchema>,
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
