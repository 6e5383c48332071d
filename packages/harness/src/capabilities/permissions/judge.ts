import type { Objection, PermissionContext, PermissionRule, Tool, ToolUseBlock } from '@x/core';
import { mainArgument, textsOf } from './argument.js';
import { concerns, covers } from './match-rule.js';
import { formatRule } from './rule.js';
import { escapeWildcards } from './wildcard.js';

export type PermissionMode = NonNullable<PermissionContext['mode']>;

/** The rules that are in force, of the configuration and of the session. */
export interface Policy {
  readonly mode: PermissionMode;
  readonly allow: readonly PermissionRule[];
  readonly deny: readonly PermissionRule[];
  readonly ask: readonly PermissionRule[];
  /** Tools that `accept_edits` allows. */
  readonly editTools: readonly string[];
}

/** What a policy has against a call: rules that deny come first, then those that ask, those that allow, then the mode. */
export function judge(policy: Policy, call: ToolUseBlock, tool: Tool): Objection | undefined {
  const { mode } = policy;
  const denied = policy.deny.find((rule) => concerns(rule, call, tool));
  if (denied) return deny(`Denied by the rule ${formatRule(denied)}. Do not try the same in another form.`);

  const harmless = tool.readOnly || tool.sessionOnly === true;
  if (mode === 'explore' && !harmless) {
    return deny(
      `Denied: only reading is possible now (permission mode explore), and ${call.name} may change something.`,
    );
  }
  const asked = policy.ask.find((rule) => concerns(rule, call, tool));
  if (asked) {
    return mode === 'dont_ask'
      ? deny(`Denied: the rule ${formatRule(asked)} wants approval, and nobody can be asked.`)
      : { type: 'ask', reason: `The rule ${formatRule(asked)} wants approval.` };
  }
  if (harmless || mode === 'bypass' || covers(policy.allow, call, tool)) return undefined;
  if (mode === 'accept_edits' && policy.editTools.includes(call.name)) return undefined;
  if (mode === 'dont_ask') return deny('Denied: no rule allows this call, and nobody can be asked.');
  const what = tool.destructive ? 'may destroy something' : 'may change something';
  return { type: 'ask', reason: `${call.name} ${what}.`, suggestion: suggestionFor(call, tool) };
}

function deny(reason: string): Objection {
  return { type: 'deny', reason };
}

/** The narrowest rule that allows this call: this tool with this command or path, or this tool. */
function suggestionFor(call: ToolUseBlock, tool: Tool): PermissionRule {
  const rule = { tool: escapeWildcards(call.name) };
  const main = mainArgument(call, tool);
  const [text, ...others] = main === undefined ? [] : (textsOf(call, main) ?? []);
  if (text === undefined || others.length > 0) return rule;
  return { ...rule, match: escapeWildcards(text.trim()) };
}
