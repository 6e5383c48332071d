import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { InvalidInputError } from '@x/core';
import { errorText, parseWith } from '@x/core/internal';
import * as z from 'zod';

const flag = { type: 'string' } as const;
const FLAGS = {
  once: { type: 'boolean' },
  host: flag,
  port: flag,
  token: flag,
  data: flag,
  repo: flag,
  help: { type: 'boolean', short: 'h' },
} as const;

/** The default prompt of `--once`: a survey, which the embedded guide can do. */
const SURVEY = 'survey this repository';

export const USAGE = `Usage: npm start -- [options]

  --once [PROMPT]   answer one prompt in the terminal and exit; run it again to resume after a crash (default: a survey)
  --port N          port of the page (default 4173, or PORT)
  --host ADDRESS    address to listen on (default 127.0.0.1)
  --token SECRET    secret in the address of the page, ?token=SECRET (default a new one, or X_TOKEN)
  --data DIR        folder for sessions, logs and reports (default .x, or X_DATA)
  --repo DIR        the repository that the agent may read (default the current directory)

Models: OPENAI_BASE_URL with OPENAI_MODEL (any compatible endpoint: Ollama, vLLM, …), OPENAI_API_KEY or
ANTHROPIC_API_KEY. X_CONTEXT_WINDOW sets the window in tokens,
X_NATIVE_COMPACTION=auto lets OpenAI or Anthropic compact. Without a model, the embedded guide answers.`;

const settingsSchema = z.strictObject({
  once: z.string().trim().min(1).optional(),
  host: z.string().min(1).default('127.0.0.1'),
  port: z.coerce.number().int().min(0).max(65_535).default(4173),
  token: z.string().min(8, 'must have at least 8 characters').optional(),
  data: z.string().min(1).default('.x'),
  repo: z.string().min(1).default('.'),
  help: z.boolean().default(false),
  contextWindow: z.coerce.number().int().min(2_000).optional(),
});

/** The settings from the arguments, with the environment as fallback. */
export type DemoSettings = z.output<typeof settingsSchema>;

/**
 * Reads the settings from arguments and environment. Arguments take precedence.
 *
 * @throws {InvalidInputError} naming every invalid argument or variable.
 */
export function readSettings(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): DemoSettings {
  const given: Readonly<Record<string, unknown>> = {
    // An empty variable counts as not set.
    port: environment.PORT || undefined,
    data: environment.X_DATA || undefined,
    token: environment.X_TOKEN || undefined,
    contextWindow: environment.X_CONTEXT_WINDOW || undefined,
    ...parseFlags(args),
  };
  const settings = parseWith(settingsSchema, given, 'settings', 'See npm start -- --help.');
  return { ...settings, data: resolve(settings.data), repo: resolve(settings.repo) };
}

function parseFlags(args: readonly string[]): object {
  try {
    const { values, positionals } = parseArgs({ args: [...args], options: FLAGS, allowPositionals: true });
    const { once, ...flags } = values;
    if (once) return { ...flags, once: positionals.join(' ').trim() || SURVEY };
    if (positionals.length > 0) throw new Error(`"${positionals[0]}" is a prompt: put --once before it`);
    return flags;
  } catch (error) {
    const message = errorText(error);
    throw new InvalidInputError('arguments', [{ path: '', message }], {
      cause: error,
      remedy: 'See npm start -- --help.',
    });
  }
}
