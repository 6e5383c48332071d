import type { Objection, PermissionContext, PermissionRule, Tool, ToolUseBlock } from '@x/core';
import { concerns, covers, mainArgument, textsOf } from './match-rule.js';
import { plainPath } from './path-pattern.js';
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

/** Judges a call by a policy: rules that deny come first, then those that ask, those that allow, then the mode. */
export function judge(policy: Policy, call: ToolUseBlock, tool: Tool): Objection | undefined {
  const { mode } = policy;
  const denied = policy.deny.find((rule) => concerns(rule, call, tool));
  if (denied) return deny(`Denied by the rule ${formatRule(denied)}. Do not try the same in another form.`);

  const harmless = isHarmless(tool);
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
  const suggestion = suggestionFor(call, tool);
  return { type: 'ask', reason: `${call.name} ${what}.`, ...(suggestion ? { suggestion } : {}) };
}

function deny(reason: string): Objection {
  return { type: 'deny', reason };
}

/** The narrowest rule that allows this call: this tool with this command or path, or this tool; none if none would. */
function suggestionFor(call: ToolUseBlock, tool: Tool): PermissionRule | undefined {
  const main = mainArgument(call, tool);
  const [text, ...others] = main === undefined ? [] : (textsOf(call, main) ?? []);
  const isOne = text !== undefined && others.length === 0;
  const rule = {
    tool: escapeWildcards(call.name),
    ...(isOne ? { match: escapeWildcards(main === 'command' ? text.trim() : formatPath(text)) } : {}),
  };
  return covers([rule], call, tool) ? rule : undefined;
}

/** Without the `/` at the end that would mean all that is in a directory. */
function formatPath(path: string): string {
  const { names, absolute } = plainPath(path);
  return `${absolute ? '/' : ''}${names.join('/') || '.'}`;
}

/** Tells whether a tool is declared to change nothing beyond the session's own notes, and to destroy nothing. */
export function isHarmless({ readOnly, sessionOnly, destructive }: Tool): boolean {
  return readOnly || (sessionOnly === true && destructive !== true);
}
