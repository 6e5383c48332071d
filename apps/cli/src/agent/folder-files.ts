import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { basename, join, sep } from 'node:path';
import { InvalidInputError } from '@x/core';
import { parseWith } from '@x/core/internal';
import { parseFrontMatter, parseModelReference } from '@x/harness/internal';
import * as z from 'zod';
import { UsageError } from '../command.js';
import { readInput, readYaml } from '../read-input.js';
import { realPathOf } from '../stores.js';
import type { FolderFiles } from './capabilities.js';
import { lazyModel } from './choose-model.js';

/** Names of the file with compaction settings for every agent in a directory. */
const COMPACTION_FILES = ['compaction.yaml', 'compaction.yml'];
/** The folder with the prompts that compaction settings can name. */
const PROMPTS = 'prompts';

/** Front matter of a prompt. A prompt with a model is a dedicated summarizer. */
const promptSchema = z.strictObject({
  /** Documentation only. */
  name: z.string().optional(),
  /** Documentation only. */
  description: z.string().optional(),
  model: z.unknown().optional(),
});

type Environment = Readonly<Record<string, string | undefined>>;
type SummarizerAgent = NonNullable<FolderFiles['agents']>[string];

/**
 * Reads the compaction settings and prompts in the directory of an agent file.
 *
 * @param provider The provider of the agent's own model, including the colon.
 * @throws {UsageError} if there are two files with compaction settings.
 * @throws {InvalidInputError} for a prompt with an unknown key.
 */
export async function readFolderFiles(
  directory: string,
  provider: string,
  environment: Environment,
  warn: (message: string) => void,
): Promise<FolderFiles> {
  const [file, other] = COMPACTION_FILES.filter((name) => existsSync(join(directory, name)));
  if (other !== undefined) {
    throw new UsageError(`${directory} has both ${file} and ${other}, but only one can apply. Delete one.`);
  }
  const folder = join(directory, PROMPTS);
  const prompts: Record<string, string> = {};
  const agents: Record<string, SummarizerAgent> = {};
  for (const entry of existsSync(folder) ? await readdir(folder) : []) {
    if (!entry.endsWith('.md')) continue;
    const name = basename(entry, '.md');
    const path = `${PROMPTS}/${entry}`;
    const place = realPathOf(join(folder, entry));
    if (!place.startsWith(`${realPathOf(directory)}${sep}`)) {
      throw new UsageError(`${path} is a link to a file outside ${directory}. Replace it with a copy.`);
    }
    const { data, body } = parseFrontMatter(await readInput(place), path);
    const { model } = parseWith(promptSchema, data, path);
    prompts[name] = body;
    if (model === undefined) continue;
    // A summarizer is created only when a configuration names it, because the API key of an unused one may be missing.
    const get = () => summarizerOf(path, model, body, environment);
    Object.defineProperty(agents, name, { enumerable: true, get });
  }
  return {
    ...(file === undefined
      ? {}
      : { compaction: await readYaml(join(directory, file)), compactionFile: file }),
    prompts,
    agents,
    folder,
    onWarning: warn,
    models(name, preset) {
      if (name.includes(':')) return lazyModel({ id: name }, environment);
      // Everruns omits the provider in model names.
      return preset === 'everruns' ? lazyModel({ id: `${provider}${name}` }, environment) : undefined;
    },
  };
}

/**
 * Creates the dedicated summarizer of a prompt file.
 *
 * @throws {InvalidInputError} if its model cannot be created.
 */
function summarizerOf(
  path: string,
  model: unknown,
  summaryPrompt: string,
  environment: Environment,
): SummarizerAgent {
  try {
    const lazy = lazyModel(parseModelReference(model, path), environment);
    return summaryPrompt === '' ? { model: lazy } : { model: lazy, summaryPrompt };
  } catch (cause) {
    if (!InvalidInputError.isInstance(cause)) throw cause;
    const issues = cause.issues.map(({ path: at, message }) => ({
      path: '',
      message: `${path}: ${at || 'model'}: ${message}`,
    }));
    throw new InvalidInputError('compaction configuration', issues, { cause });
  }
}
