import { type ToolResultBlock, type ToolUseBlock, toolResultsOf, toolUsesOf } from '@x/core';
import { isTimeToRest, jsonText, type Work } from '@x/core/internal';
import type { ToolDefinition } from '@x/core/messages';
import { commandOf, outcomeOf, pathOf, readsByName } from '../conversation/tool-calls.js';
import type { Excerpts } from './excerpts.js';

/** The excerpts of a message with its number in the session. */
export interface Numbered {
  readonly at: number;
  readonly excerpts: Excerpts;
}

/** The part of a numbered message that {@link turnsOf} reads. */
interface Source {
  readonly at: number;
  readonly excerpts: Pick<Excerpts, 'message'>;
}

/** A covered message with its calls and their results. */
export type Turn<Of extends Source = Numbered> = Of & { readonly calls: readonly Made<Of>[] };

/** A call with its result. */
export interface Made<Of extends Source = Numbered> {
  readonly use: ToolUseBlock;
  readonly looks: boolean;
  result: { readonly block: ToolResultBlock; readonly numbered: Of } | undefined;
  /** The number of a later message in which a call of the same subject succeeded. */
  mendedAt: number | undefined;
}

/** Returns the covered messages with their calls. The annotations in `tools` say which calls are read-only. */
export function* turnsOf<Of extends Source>(
  covered: readonly Of[],
  tools: readonly ToolDefinition[],
): Work<readonly Turn<Of>[]> {
  const declared = new Map(tools.map(({ name, annotations }) => [name, annotations?.readOnly]));
  const open = new Map<string, Made<Of>>();
  const failed = new Map<string, Made<Of>>();
  const turns: Turn<Of>[] = [];
  for (const numbered of covered) {
    if (isTimeToRest()) yield;
    const { at, excerpts } = numbered;
    const calls = toolUsesOf(excerpts.message).map((use): Made<Of> => {
      const call = {
        use,
        looks: looksOnly(use, declared.get(use.name)),
        result: undefined,
        mendedAt: undefined,
      };
      open.set(use.id, call);
      return call;
    });
    for (const block of toolResultsOf(excerpts.message)) {
      const call = open.get(block.toolUseId);
      if (!call) continue;
      call.result = { block, numbered };
      const hasFailed = outcomeOf(block, call.use).failed;
      if (!hasFailed && failed.size === 0) continue;
      const key = subjectOf(call.use);
      if (hasFailed) failed.set(key, call);
      else {
        const before = failed.get(key);
        if (before) before.mendedAt = at;
        failed.delete(key);
      }
    }
    turns.push({ ...numbered, calls });
  }
  return turns;
}

/** Returns the subject of a call: its tool, and its file, command line or input. A success fixes an earlier failure of its subject. */
export function subjectOf(use: ToolUseBlock): string {
  return `${use.name} ${pathOf(use) ?? commandOf(use) ?? jsonText(use.input)}`;
}

/** Tests if a call is read-only: by the tool's annotation, or else by its command line or the tool's name. */
function looksOnly(use: ToolUseBlock, readOnly: boolean | undefined): boolean {
  if (readOnly !== undefined) return readOnly;
  const command = commandOf(use);
  if (command !== undefined && pathOf(use) === undefined) return onlyPrints(command);
  return readsByName(use.name);
}

/** Matches programs that only print. */
const PRINTERS = /^(?:bat|cat|cut|diff|file|grep|head|jq|less|ls|nl|pwd|rg|stat|tail|tr|uniq|wc)$/;
const LONGEST_COMMAND = 4_000;
/** Matches quoted text, here-documents and redirected errors. Bounded because longer command lines are not read. */
const QUOTED = /<<[^\n]*\n[\s\S]*|'[^']*'|"[^"]*"|2>(?:&1|\/dev\/null)/g;

/** Tests if every command of a command line only prints and none redirects its output. */
function onlyPrints(command: string): boolean {
  if (command.length > LONGEST_COMMAND) return false;
  const bare = command.replaceAll(QUOTED, ' _ ');
  if (/[>`]|\$\(/.test(bare)) return false;
  return bare.split(/&&|[;|\n]+/).every((part) => {
    const [program = '', ...rest] = part.trim().split(/\s+/);
    return (
      program === '' || program === 'cd' || PRINTERS.test(program) || (program === 'sed' && rest[0] === '-n')
    );
  });
}
