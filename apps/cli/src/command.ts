import { parseArgs } from 'node:util';
import { errorText } from '@x/core';

/** An option: what `parseArgs` needs to know of it, and what the usage shows of it. */
export interface Option {
  readonly type: 'string' | 'boolean';
  readonly short?: string;
  readonly multiple?: boolean;
  readonly default?: string | string[];
  /** Stands for the value in the usage, as `FILE`. */
  readonly value?: string;
  /** Refuses a run without the option. */
  readonly required?: boolean;
  /** Options of one group exclude each other. */
  readonly group?: string;
  /** The options of which this one names a part. */
  readonly partOf?: readonly string[];
}

/** Options by name. */
export type OptionTable = Readonly<Record<string, Option>>;

type Parsed<Options extends OptionTable> = ReturnType<
  typeof parseArgs<{ args: string[]; options: Options; allowPositionals: true }>
>;

/** One command of the terminal program. */
export interface Command {
  readonly usage: string;
  readonly summary: string;
  /** Commands that are named behind its own name. */
  readonly subcommands?: Readonly<Record<string, Command>>;
  /** @throws {UsageError} for arguments that it does not take. */
  run(args: readonly string[], output: NodeJS.WritableStream): Promise<void>;
}

/** Arguments that make no sense; the program says why and exits with 2. */
export class UsageError extends Error {}

/** The same, where the usage helps: the command adds its own. */
export class ArgumentError extends UsageError {}

/**
 * Makes a command of its tables: the usage is derived from them, and arguments are checked against them.
 *
 * @param definition.takes the positional arguments: `SESSION` for one, `FILE…` for one or more, in brackets where there
 * may be none.
 */
export function command<const Options extends OptionTable>(definition: {
  readonly name: string;
  readonly takes?: string;
  readonly options: Options;
  readonly summary: string;
  run(arguments_: Parsed<Options> & { readonly output: NodeJS.WritableStream }): Promise<void>;
}): Command {
  const { name, takes = '', options, summary } = definition;
  const usage = [name, takes, ...optionsUsage(options)].filter((part) => part !== '').join(' ');
  return {
    usage,
    summary,
    async run(args, output) {
      try {
        const parsed = parse(args, options);
        checkCount(takes, parsed.positionals.length);
        await definition.run({ ...parsed, output });
      } catch (error) {
        if (!(error instanceof ArgumentError)) throw error;
        throw new UsageError([error.message, `Usage: ${usage}`].filter((line) => line !== '').join('\n'));
      }
    },
  };
}

/** Tells whether the arguments ask for help. */
export function asksForHelp(args: readonly string[]): boolean {
  const end = args.indexOf('--');
  return args
    .slice(0, end < 0 ? args.length : end)
    .some((argument) => argument === '--help' || argument === '-h');
}

/** Renders the help of a command, or of the subcommand that the arguments name. */
export function helpOf(command: Command, [name = '']: readonly string[]): string {
  const { subcommands = {} } = command;
  const { usage, summary } = (Object.hasOwn(subcommands, name) ? subcommands[name] : undefined) ?? command;
  return `Usage: ${usage}\n\n${summary}`;
}

/** A whole number of at least 1. */
export function positive(name: string, text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 1) return value;
  throw new ArgumentError(`--${name} must be a whole number of at least 1, not "${text}"`);
}

/** One of several words. */
export function oneOf<Word extends string>(name: string, words: readonly Word[], text: string): Word {
  const word = words.find((known) => known === text);
  if (word !== undefined) return word;
  throw new ArgumentError(`--${name} must be one of ${words.join(', ')}`);
}

function parse<Options extends OptionTable>(args: readonly string[], options: Options): Parsed<Options> {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true });
  } catch (error) {
    throw new ArgumentError(errorText(error));
  }
}

function checkCount(takes: string, count: number): void {
  const fewest = takes === '' || takes.startsWith('[') ? 0 : 1;
  const most = takes === '' ? 0 : takes.includes('…') ? Number.POSITIVE_INFINITY : 1;
  if (count < fewest || count > most) throw new ArgumentError('');
}

function optionsUsage(options: OptionTable): readonly string[] {
  const entries = Object.entries(options);
  const shown = new Set<string>();
  return entries.flatMap(([name, { group, partOf, required }]) => {
    if (partOf !== undefined || (group !== undefined && shown.has(group))) return [];
    if (group !== undefined) shown.add(group);
    const together = group === undefined ? [name] : namesWhere(options, (option) => option.group === group);
    const text = together.map((each) => withParts(each, options)).join(' | ');
    return [required ? text : `[${text}]${options[name]?.multiple ? '…' : ''}`];
  });
}

function withParts(name: string, options: OptionTable): string {
  const value = options[name]?.value;
  const parts = namesWhere(options, ({ partOf = [] }) => partOf.includes(name)).map(
    (part) => ` [${withParts(part, options)}]`,
  );
  return `--${name}${value === undefined ? '' : ` ${value}`}${parts.join('')}`;
}

function namesWhere(options: OptionTable, holds: (option: Option) => boolean): readonly string[] {
  return Object.entries(options).flatMap(([name, option]) => (holds(option) ? [name] : []));
}
