import { type ParseArgsConfig, parseArgs } from 'node:util';

type OptionsConfig = NonNullable<ParseArgsConfig['options']>;

/** One command of the terminal program. */
export interface Command {
  readonly usage: string;
  readonly summary: string;
  /** @throws {UsageError} for arguments that it does not take. */
  run(args: readonly string[], output: NodeJS.WritableStream): Promise<void>;
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
