import {
  headOf,
  type Message,
  type Redact,
  type ToolResultBlock,
  type ToolUseBlock,
  tailOf,
  textOf,
} from '@x/core';
import { marksOf, stringsIn, withMarks } from '../conversation/marks.js';
import { redactMessage } from '../conversation/redaction.js';
import { isUserRequest } from '../conversation/regions.js';
import { changedPaths, commandOf, effectOf, outcomeOf, pathsOf } from '../conversation/tool-calls.js';
import { errorLine } from '../reducers/stubs.js';
import { decisionsIn } from './decisions.js';
import { type Mention, mentionsIn } from './mentions.js';
import { shellFiles } from './shell-files.js';

/** A tool call, as far as a ledger cares. */
export interface CallFact {
  readonly id: string;
  readonly tool: string;
  readonly read: readonly string[];
  readonly changed: readonly string[];
  /** A command line, unless the files that it reads say it all. */
  readonly command?: string | undefined;
}

/** A tool's answer, as far as a ledger cares. */
export interface ResultFact {
  readonly callId: string;
  readonly tool: string;
  readonly failed: boolean;
  readonly exitCode?: number | undefined;
  readonly error?: string | undefined;
}

/** What one message contributes to a ledger. */
export interface Facts {
  readonly request?: string | undefined;
  /** How the model ended its turn: it spoke and called nothing. */
  readonly closing?: string | undefined;
  readonly decisions: readonly string[];
  readonly calls: readonly CallFact[];
  readonly results: readonly ResultFact[];
  readonly mentions: readonly Mention[];
  /** How much it counts that this message has them, … */
  readonly weight: number;
  /** … all but those that the model passed to a tool. */
  readonly passed: ReadonlySet<Mention>;
}

/** What a user says and what the model passes to tools counts for more than what is merely said or printed. */
const WEIGHTS = { user: 4, argument: 3, other: 1 };

/** Mentions that an altered message takes along into storage. */
const KEPT_MENTIONS = 24;
const COMMAND_LENGTH = 200;
const CLOSING_LENGTH = 160;

/** The facts of a message as it is, and those of it without what a function takes out. */
interface Known {
  plain: Facts | undefined;
  redact: Redact | undefined;
  redacted: Facts | undefined;
}

const known = new WeakMap<Message, Known>();

/** The facts of a message, extracted once per message object: without secrets where `redact` is given. */
export function factsOf(message: Message, redact?: Redact): Facts {
  let entry = known.get(message);
  if (entry === undefined) {
    entry = { plain: undefined, redact: undefined, redacted: undefined };
    known.set(message, entry);
  }
  if (redact === undefined) return plainFacts(entry, message);
  if (entry.redact !== redact || entry.redacted === undefined) {
    const harmless = redactMessage(message, redact);
    entry.redacted = harmless === message ? plainFacts(entry, message) : extract(harmless);
    entry.redact = redact;
  }
  return entry.redacted;
}

function plainFacts(entry: Known, message: Message): Facts {
  entry.plain ??= extract(message);
  return entry.plain;
}

/** How much it counts that a message has one of its mentions. */
export function weightOf({ weight, passed }: Facts, mention: Mention): number {
  return passed.size > 0 && passed.has(mention) ? WEIGHTS.argument : weight;
}

/**
 * Gives an altered message the facts of the one it replaces: in this process all of them, in storage the names that its
 * new text no longer holds. Without secrets: what stands beside a message is seen by nobody who might object to it.
 */
export function keepFacts(from: Message, to: Message, redact?: Redact): Message {
  const facts = factsOf(from, redact);
  const remaining = new Set(mentionsOf(to, inputsOf(to)).mentions.map((mention) => mention.token));
  const lost = facts.mentions.filter((mention) => !remaining.has(mention.token)).slice(0, KEPT_MENTIONS);
  const marked = withMarks(to, { mentions: lost.map((mention) => mention.token) });
  known.set(marked, { plain: facts, redact: undefined, redacted: undefined });
  return marked;
}

function extract(message: Message): Facts {
  const calls: CallFact[] = [];
  const results: ResultFact[] = [];
  const inputs = inputsOf(message);
  for (const block of message.content) {
    if (block.type === 'tool_use') calls.push(callFact(block, inputs[calls.length] ?? ''));
    else if (block.type === 'tool_result') results.push(resultFact(block));
  }
  const speaks = message.role === 'assistant';
  const asks = isUserRequest(message);
  const text = speaks || asks ? textOf(message.content.filter((block) => block.type === 'text')) : '';
  const { mentions, weight, passed } = mentionsOf(message, inputs);
  // The same fields each time, given or not: there are thousands of these, and all are read in one place.
  return {
    request: asks ? text.trim() : undefined,
    closing: speaks && calls.length === 0 ? closingOf(text) : undefined,
    decisions: speaks ? decisionsIn(text) : NOTHING,
    calls,
    results,
    mentions,
    weight,
    passed,
  };
}

const NOTHING: readonly string[] = [];
const NONE: ReadonlySet<Mention> = new Set();

/** @param inputs What the message passes to tools. */
function mentionsOf(
  message: Message,
  inputs: readonly string[],
): Pick<Facts, 'mentions' | 'weight' | 'passed'> {
  const remembered = stringsIn(marksOf(message).mentions).join(' ');
  const weight = message.role === 'user' ? WEIGHTS.user : WEIGHTS.other;
  const text = textOf(message);
  const said = mentionsIn(remembered ? `${text} ${remembered}` : text);
  const passed = inputs.length > 0 ? mentionsIn(inputs.join(' ')) : [];
  if (passed.length === 0) return { mentions: said, weight, passed: NONE };
  if (said.length === 0) return { mentions: passed, weight, passed: new Set(passed) };
  // Later, so that an argument outweighs what was said about it.
  const found = new Map([...said, ...passed].map((mention) => [mention.token, mention]));
  return { mentions: [...found.values()], weight, passed: new Set(passed) };
}

/** What a message passes to each tool that it calls, as text. */
function inputsOf(message: Message): readonly string[] {
  let inputs: string[] | undefined;
  for (const block of message.content) {
    if (block.type !== 'tool_use') continue;
    inputs ??= [];
    inputs.push(stringsOf(block.input));
  }
  return inputs ?? NOTHING;
}

/** All strings in a value, unescaped: a path in JSON text would carry the escapes. */
function stringsOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return String(value);
  if (typeof value !== 'object' || value === null) return '';
  return Object.values(value).map(stringsOf).join(' ');
}

function callFact(call: ToolUseBlock, input: string): CallFact {
  const { id, name } = call;
  const command = commandOf(call);
  const patched = changedPaths(input);
  if (command !== undefined) {
    const { read, written, onlyReads } = shellFiles(command);
    const changed = [...new Set([...patched, ...written])];
    return { id, tool: name, read, changed, command: onlyReads ? undefined : oneLine(command) };
  }
  const effect = patched.length > 0 ? 'change' : effectOf(name, false);
  const paths = [...new Set([...pathsOf(call), ...patched])];
  return {
    id,
    tool: name,
    read: effect === 'change' ? [] : paths,
    changed: effect === 'change' ? paths : [],
    command: undefined,
  };
}

function resultFact(result: ToolResultBlock): ResultFact {
  const { failed, exitCode } = outcomeOf(result);
  return {
    callId: result.toolUseId,
    tool: result.toolName,
    failed,
    exitCode,
    error: failed ? oneLine(errorLine(textOf([result]))) : undefined,
  };
}

/** The end of the last paragraph, or nothing where there is no text. */
function closingOf(text: string): string | undefined {
  const last = text
    .trim()
    .split(/\n\s*\n/)
    .at(-1);
  return last ? tailOf(oneLine(last), CLOSING_LENGTH) : undefined;
}

function oneLine(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length > COMMAND_LENGTH ? `${headOf(line, COMMAND_LENGTH - 1).trimEnd()}…` : line;
}
