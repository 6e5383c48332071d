import type { AgentState, JsonObject, Objection, PermissionRule, Tool } from '@x/core';
import { isObject, type PermissionContext, strangersIn } from '@x/core/internal';
import { formatRule } from '../../lib/permission-rule.js';
import { escapeWildcards } from '../../lib/wildcard.js';
import {
  concerns,
  covers,
  fileRuleOf,
  type JudgedCall,
  mainArgument,
  namedIn,
  textsOf,
} from './match-rule.js';
import { plainPath } from './path-pattern.js';

export type PermissionMode = NonNullable<PermissionContext['mode']>;

/** The effective rules, from the configuration and the session. */
export interface Policy {
  readonly mode: PermissionMode;
  readonly allow: readonly PermissionRule[];
  readonly deny: readonly PermissionRule[];
  readonly ask: readonly PermissionRule[];
  /** Names of tools that `accept_edits` allows. */
  readonly editTools: readonly string[];
}

/** Judges a call by a policy: deny rules come first, then ask rules, then allow rules, then the mode. */
export function judge(policy: Policy, judged: JudgedCall, tool: Tool): Objection | undefined {
  const { mode } = policy;
  const { call } = judged;
  const denied = policy.deny.find((rule) => concerns(rule, judged) === 'yes');
  if (denied) return deny(`Denied by the rule ${formatRule(denied)}. Do not try the same in another form.`);

  const harmless = isHarmless(tool, mode !== 'explore' && mode !== 'dont_ask');
  if (mode === 'explore' && !harmless) {
    return deny(
      `Denied: only reading is possible now (permission mode explore), and ${call.name} may change something.`,
    );
  }
  // If the sandbox hides the files of a read rule, no doubt remains. A write rule stays in doubt, because a file may not
  // exist yet.
  const isKept = (rule: PermissionRule) => tool.keepsFiles && fileRuleOf(rule)?.use === 'read';
  const doubted = policy.deny.find((rule) => !isKept(rule) && concerns(rule, judged) === 'perhaps');
  if (doubted) return { type: 'ask', reason: `The rule ${formatRule(doubted)} may deny this. ${UNCLEAR}` };
  const asked = policy.ask.find((rule) => concerns(rule, judged) !== 'no');
  if (asked) return { type: 'ask', reason: `The rule ${formatRule(asked)} requires approval.` };
  if (harmless || mode === 'bypass' || covers(policy.allow, judged)) return undefined;
  if (mode === 'accept_edits' && policy.editTools.includes(call.name)) return undefined;
  const risk = tool.destructive ? ', which may destroy something' : '';
  const suggestion = suggestionFor(judged);
  return { type: 'ask', reason: `No rule allows ${call.name}${risk}.`, ...(suggestion && { suggestion }) };
}

/**
 * Returns a warning for the approver if servers or tools of unknown origin may have influenced the calls of the last message;
 * otherwise ''. Results that came after that message did not influence them.
 */
export function textOfStrangers({ context }: Pick<AgentState, 'context'>): string {
  const read = context.slice(0, context.findLastIndex(({ role }) => role === 'assistant') + 1);
  const names = strangersIn(read, ['agent', 'file']).join(', ');
  if (names === '') return '';
  return ` The agent has read text that others may have written (from ${names}). Approve this call only if it serves what you asked for.`;
}

/** Explains why a command line needs approval, and how to avoid it. */
const UNCLEAR =
  'The programs and files that this command line uses cannot be determined before it runs. Use simple commands. Write each program and file name literally, without wildcards, variables, ~, code, or input that a program may run.';

function deny(reason: string): Objection {
  return { type: 'deny', reason };
}

/**
 * Returns the narrowest rule that allows this call: this tool with this command, these paths or these arguments.
 * Returns `undefined` if no such rule exists; a broader rule must be written by a human.
 */
function suggestionFor(judged: JudgedCall): PermissionRule | undefined {
  const { call, tool } = judged;
  const only = (name: string) => {
    const texts = textsOf(call, name) ?? [];
    return texts.length === 1 ? texts[0] : undefined;
  };
  const name = mainArgument(judged);
  const main = name === undefined ? undefined : only(name);
  const schema = tool?.definition.inputSchema ?? {};
  // If the main argument is a path, only declared paths matter. Otherwise fix all arguments, because an omitted one
  // could have any value next time.
  const all =
    main !== undefined && name !== 'command' && tool?.paths !== undefined
      ? Object.keys(tool.paths)
      : [...new Set([...namedIn(schema), ...(isObject(call.input) ? Object.keys(call.input) : [])])];
  const declared: JsonObject = isObject(schema.properties) ? schema.properties : {};
  // If the main argument is a command, numeric arguments are only limits, but a string may select the machine that runs it.
  const onlyLimits = (each: string) => main !== undefined && name === 'command' && isNumeric(declared[each]);
  const rest = all.filter((each) => (main === undefined || each !== name) && !onlyLimits(each));
  const input = rest.flatMap((each) => {
    const value = only(each);
    return value === undefined ? [] : [[each, escapeWildcards(formatArgument(each, value, judged))] as const];
  });
  if (input.length < rest.length) return undefined;
  // An open schema accepts additional arguments, so the rule excludes them.
  const isOpen = schema.additionalProperties !== false;
  const rule: PermissionRule = {
    tool: escapeWildcards(call.name),
    ...(tool?.fingerprint === undefined ? {} : { fingerprint: tool.fingerprint }),
    ...(main !== undefined && {
      match: escapeWildcards(name === 'command' ? main.trim() : formatPath(main)),
    }),
    ...(input.length > 0 || isOpen ? { input: Object.fromEntries(input) } : {}),
  };
  return covers([rule], judged) ? rule : undefined;
}

function isNumeric(schema: unknown): boolean {
  return isObject(schema) && (schema.type === 'integer' || schema.type === 'number');
}

function formatArgument(name: string, value: string, { paths }: JudgedCall): string {
  return paths.has(name) ? formatPath(value) : value;
}

/** Formats a path without a trailing `/`, which would match everything in the directory. */
function formatPath(path: string): string {
  const { names, absolute } = plainPath(path);
  return `${absolute ? '/' : ''}${names.join('/') || '.'}`;
}

/** Tests if a tool is declared to change only the agent's own session data, and to destroy nothing. */
export function isHarmless(
  { readOnly, sessionOnly, destructive, persists }: Tool,
  mayPersist: boolean,
): boolean {
  return readOnly || (sessionOnly === true && destructive !== true && (mayPersist || persists !== true));
}
