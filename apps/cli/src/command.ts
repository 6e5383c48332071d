import { type ParseArgsConfig, parseArgs } from 'node:util';

type OptionsConfig = NonNullable<ParseArgsConfig['options']>;

/** One command of the terminal program. */
export interface Command {
  readonly usage: string;
  readonly summary: string;
  /** Commands that are named behind its own name. */
  readonly subcommands?: Readonly<Record<string, Command>>;
  /** @throws {UsageError} for arguments that it does not take. */
  run(args: readonly string[], output: NodeJS.WritableStream): Promise<void>;
}

/** Whether somebody wants to know how a command is used, and not to run it. */
export function asksForHelp(args: readonly string[]): boolean {
  const end = args.indexOf('--');
  return args
    .slice(0, end < 0 ? args.length : end)
    .some((argument) => argument === '--help' || argument === '-h');
}

/** How a command is used, or that one of its subcommands which the arguments name. */
export function helpOf(command: Command, [name = '']: readonly string[]): string {
  const { subcommands = {} } = command;
  const { usage, summary } = (Object.hasOwn(subcommands, name) ? subcommands[name] : undefined) ?? command;
  return `Usage: ${usage}\n\n${summary}`;
}

/** Arguments that make no sense; the program says why and exits with 2. */
export class UsageError extends Error {}

/** The options and positionals of a command line. */
export function readArguments<Options extends OptionsConfig>(
  usage: string,
  args: readonly string[],
  options: Options,
): ReturnType<typeof parseArgs<{ args: string[]; options: Options; allowPositionals: true }>> {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true });
  } catch (error) {
    throw new UsageError(`${error instanceof Error ? error.message : String(error)}\nUsage: ${usage}`);
  }
}

/** A whole number of at least 1. */
export function positive(usage: string, name: string, text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 1) return value;
  throw new UsageError(`--${name} must be a whole number of at least 1, not "${text}"\nUsage: ${usage}`);
}
