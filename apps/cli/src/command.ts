import { parseArgs } from 'node:util';
import { errorText, nearNames } from '@x/core/internal';
import { rowsOf } from './terminal/columns.js';

/** The command line prefix of this program. Projects that have installed it run it through `npx`. */
export const X = process.env.npm_command === 'exec' ? 'npx x' : 'x';

/** An option: its definition for `parseArgs`, and its help. */
export interface Option {
  readonly type: 'string' | 'boolean';
  readonly short?: string;
  readonly multiple?: boolean;
  readonly default?: string | string[];
  /** Placeholder of the value in the help, such as `FILE`. */
  readonly value?: string;
  /** The option's line in the help. */
  readonly help: string;
  /** Whether the option is required. */
  readonly required?: boolean;
  /** The store options that this option refines. One of them must be set. */
  readonly partOf?: readonly string[];
}

/** Options by name. */
export type OptionTable = Readonly<Record<string, Option>>;

type Parsed<Options extends OptionTable> = ReturnType<
  typeof parseArgs<{ args: string[]; options: Options; allowPositionals: true }>
>;

/** The streams that a command writes to. */
export interface Streams {
  readonly output: NodeJS.WritableStream;
  /** Receives notes and progress. */
  readonly errors: NodeJS.WritableStream;
}

/** One command of the terminal program. */
export interface Command {
  /** The words after `x`, such as `sessions list`. */
  readonly name: string;
  readonly takes: string;
  readonly options: OptionTable;
  readonly summary: string;
  readonly examples: readonly string[];
  /** Subcommands, whose names begin with the name of this command. */
  readonly subcommands?: readonly Command[];
  /**
   * @returns the exit code; `undefined` counts as 0.
   * @throws {UsageError} for invalid arguments.
   */
  run(args: readonly string[], streams: Streams): Promise<number | undefined>;
}

/** Invalid arguments. The program prints the message and exits with 2. */
export class UsageError extends Error {}

/** Invalid arguments for which the usage helps. The command appends its usage to the message. */
export class ArgumentError extends UsageError {}

/**
 * Creates a command from its definition, which provides the help and validates arguments.
 *
 * @param definition.takes The positional arguments: `SESSION` for one, `FILE…` for one or more, in brackets if optional.
 */
export function command<const Options extends OptionTable>(definition: {
  readonly name: string;
  readonly takes?: string;
  readonly options: Options;
  readonly summary: string;
  readonly examples?: readonly string[];
  run(arguments_: Parsed<Options> & Streams): Promise<number | undefined>;
}): Command {
  const made: Command = {
    takes: '',
    examples: [],
    ...definition,
    async run(args, streams) {
      try {
        const parsed = parse(args, definition.options);
        checkCount(made, parsed.positionals);
        return await definition.run({ ...parsed, ...streams });
      } catch (error) {
        if (!(error instanceof ArgumentError)) throw error;
        throw new UsageError([error.message, usageOf(made), seeHelp(made)].filter(Boolean).join('\n'));
      }
    },
  };
  return made;
}

/**
 * Creates a command whose first argument names a subcommand.
 *
 * @param definition.fallback Runs if no subcommand is named.
 */
export function commandGroup({
  fallback,
  ...definition
}: Omit<Command, 'run' | 'subcommands'> & {
  readonly subcommands: readonly Command[];
  readonly fallback?: Command;
}): Command {
  const { name, subcommands } = definition;
  return {
    ...definition,
    async run(args, streams) {
      const [word = '', ...rest] = args;
      if (fallback !== undefined && (word === '' || word.startsWith('-'))) return fallback.run(args, streams);
      const full = `${name} ${word}`;
      const found = subcommands.find((each) => each.name === full);
      if (found !== undefined) return found.run(rest, streams);
      const meant = didYouMean(
        full,
        subcommands.map((each) => each.name),
      );
      const wrong = word === '' ? `${X} ${name} needs a command` : `There is no command "${full}"`;
      throw new UsageError(`${wrong}${meant || `. ${X} ${name} --help lists them.`}`);
    },
  };
}

/** Returns whether the arguments contain a help flag. */
export function asksForHelp(args: readonly string[]): boolean {
  const end = args.indexOf('--');
  return args
    .slice(0, end < 0 ? args.length : end)
    .some((argument) => argument === '--help' || argument === '-h');
}

/** Renders the help of a command, or of the subcommand that the arguments name, for 80 columns. */
export function helpOf(command: Command, [name]: readonly string[]): string {
  const { subcommands = [] } = command;
  const shown = subcommands.find((each) => each.name === `${command.name} ${name}`) ?? command;
  const list = (title: string, rows: readonly (readonly [string, string])[]) =>
    rows.length === 0 ? [] : ['', title, ...columns(rows)];
  return [
    usageOf(shown),
    '',
    ...rowsOf(shown.summary, WIDTH),
    ...list(
      'Commands:',
      (shown.subcommands ?? []).map((each) => [`x ${each.name} ${each.takes}`.trim(), each.summary]),
    ),
    ...list('Options:', Object.entries(shown.options).map(optionRow)),
    ...(shown.examples.length === 0 ? [] : ['', 'Examples:', ...shown.examples.map((line) => `  ${line}`)]),
  ].join('\n');
}

/** Formats rows of two columns. Wraps the second column. On a narrow terminal, it is below the first. */
export function columns(rows: readonly (readonly [string, string])[], width = WIDTH): readonly string[] {
  const left = width < 60 ? 2 : Math.min(30, Math.max(...rows.map(([term]) => term.length)) + 2);
  return rows.flatMap(([term, text]) => {
    const [first = '', ...more] = rowsOf(text, Math.min(width, WIDTH) - left - 2);
    const rest = more.map((line) => `${' '.repeat(left + 2)}${line}`);
    if (term.length + 2 <= left) return [`  ${term.padEnd(left)}${first}`, ...rest];
    return [`  ${term}`, `${' '.repeat(left + 2)}${first}`, ...rest];
  });
}

/** Quotes a word for a shell if necessary. */
function quoted(word: string): string {
  return /^[\w./:@=-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** Formats a command of this program for a shell. */
export function shellCommand(words: readonly string[], options: Readonly<Record<string, unknown>>): string {
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  const named = given.flatMap(([name, value]) => [
    `--${name}`,
    ...(value === true ? [] : [quoted(String(value))]),
  ]);
  return [X, ...words.map(quoted), ...named].join(' ');
}

/** Parses a whole number of at least 1; `64k` is 64 000. */
export function positive(name: string, text: string): number {
  const [, digits = text, thousands = ''] = /^(\d+)(k?)$/i.exec(text) ?? [];
  const value = Number(digits) * (thousands === '' ? 1 : 1_000);
  if (Number.isInteger(value) && value >= 1) return value;
  throw new ArgumentError(`--${name} must be a whole number of at least 1, not "${text}"`);
}

function parse<Options extends OptionTable>(args: readonly string[], options: Options): Parsed<Options> {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ERR_PARSE_ARGS_INVALID_OPTION_VALUE') {
      const [, name = ''] = /'(?:-\w, )?(--[\w-]+)/.exec(errorText(error)) ?? [];
      const isSwitch = options[name.slice(2)]?.type === 'boolean';
      const needed = isSwitch
        ? 'does not accept a value.'
        : `needs a value. If the value begins with a dash, write ${name}=…`;
      throw new ArgumentError(`${name} ${needed}`);
    }
    if (code !== 'ERR_PARSE_ARGS_UNKNOWN_OPTION') throw new ArgumentError(errorText(error));
    const { tokens } = parseArgs({ args: [...args], options, strict: false, tokens: true });
    const unknown = tokens.find((token) => token.kind === 'option' && !Object.hasOwn(options, token.name));
    const { rawName = '', name = '' } = unknown?.kind === 'option' ? unknown : {};
    throw new ArgumentError(
      `There is no option ${rawName}${didYouMean(name, Object.keys(options), '--') || '.'}`,
    );
  }
}

/** Returns a suggestion for an unknown name: `; did you mean sessions?`, or an empty string. */
export function didYouMean(name: string, known: readonly string[], before = ''): string {
  const [near] = nearNames(name, known);
  return near === undefined ? '' : `; did you mean ${before}${near}?`;
}

function checkCount({ takes, options }: Command, given: readonly string[]): void {
  const min = takes === '' || takes.startsWith('[') ? 0 : 1;
  const max = takes === '' ? 0 : takes.includes('…') ? Number.POSITIVE_INFINITY : 1;
  if (given.length < min) throw new ArgumentError(`${takes.replace('…', '')} is missing.`);
  const extra = given[max];
  if (extra === undefined) return;
  const hint = 'prompt' in options ? ` To send it as a prompt: --prompt ${JSON.stringify(extra)}` : '';
  throw new ArgumentError(`Unexpected argument "${extra}".${hint}`);
}

const WIDTH = 80;

function usageOf({ name, takes, options }: Command): string {
  const needed = Object.entries(options).flatMap(([option, { required }]) =>
    required ? [`--${option}`] : [],
  );
  const rest = Object.keys(options).length > needed.length ? ['[options]'] : [];
  return [`Usage: ${X}`, name, takes, ...needed, ...rest].filter((part) => part !== '').join(' ');
}

function seeHelp({ name }: Command): string {
  return `For details: ${X} ${name} --help`;
}

function optionRow([name, option]: readonly [string, Option]): readonly [string, string] {
  const { short, value, help, multiple, partOf, default: preset } = option;
  const term = `${short === undefined ? '    ' : `-${short}, `}--${name}${value === undefined ? '' : ` ${value}`}`;
  const notes = [
    ...(partOf === undefined ? [] : [`with ${partOf.map((each) => `--${each}`).join(' or ')}`]),
    ...(multiple ? ['may be repeated'] : []),
    ...(typeof preset === 'string' ? [`default: ${preset}`] : []),
  ];
  return [term, notes.length === 0 ? help : `${help} (${notes.join('; ')})`];
}
