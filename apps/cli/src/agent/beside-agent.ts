import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { InvalidInputError, nearNames } from '@x/core';
import { parseFrontMatter, parseModelReference } from '@x/harness';
import { UsageError } from '../command.js';
import { readInput, readYaml } from '../read-input.js';
import { modelFromAura } from './aura-file.js';
import type { Beside } from './capabilities.js';
import { laterModel } from './choose-model.js';

/** The file of compaction settings for every agent in a directory; Aura keeps it in `features`. */
const COMPACTION_FILES = ['', 'features/'].flatMap((folder) =>
  ['yaml', 'yml'].map((extension) => `${folder}compaction.${extension}`),
);
/** The folder of prompts that a compaction names; a prompt whose front matter names a model is a dedicated summarizer. */
export const PROMPTS = 'prompts';
/** Where Aura keeps agents that do something for another one, such as to summarize. */
const AGENTS = 'agents/features';
/** What the front matter of prompts may say beside the model, for people. */
const OF_PROMPTS = ['name', 'description', 'model', 'hide'];

type Environment = Readonly<Record<string, string | undefined>>;
type SummarizerAgent = NonNullable<Beside['agents']>[string];

/** A prompt, or an agent whose text is one. */
interface Prompt {
  /** The file, from the folder of what stands beside the agent. */
  readonly path: string;
  /** Its name without ending. */
  readonly stem: string;
  readonly data: Readonly<Record<string, unknown>>;
  readonly body: string;
}

/** Finds the folder of what stands beside an agent's file; a file somewhere in `agents`, as Aura lays them out, has it beside `agents`. */
export function folderBeside(file: string): string {
  const directory = dirname(resolve(file));
  const holds = (folder: string) =>
    [PROMPTS, ...COMPACTION_FILES].some((name) => existsSync(join(folder, name)));
  for (let folder = directory; !holds(directory) && folder !== dirname(folder); folder = dirname(folder)) {
    if (basename(folder) === 'agents') return holds(dirname(folder)) ? dirname(folder) : directory;
  }
  return directory;
}

/**
 * Reads what stands beside an agent's file.
 *
 * @param provider That of the agent's own model, with its colon.
 */
export async function besideOf(
  directory: string,
  provider: string,
  environment: Environment,
  warn: (message: string) => void,
): Promise<Beside> {
  const [file, other] = COMPACTION_FILES.filter((name) => existsSync(join(directory, name)));
  if (other !== undefined) {
    throw new UsageError(`${directory} holds ${file} and ${other}: one of them would not count. Delete one.`);
  }
  const folder = join(directory, PROMPTS);
  const found: Prompt[] = [];
  for (const within of [PROMPTS, `${PROMPTS}/features`, AGENTS]) {
    const whole = join(directory, within);
    for (const entry of existsSync(whole) ? (await readdir(whole)).toSorted() : []) {
      if (!entry.endsWith('.md')) continue;
      const path = `${within}/${entry}`;
      const { data, body } = parseFrontMatter(await readInput(join(whole, entry)), path);
      const slip = Object.keys(data).find(
        (key) => !/^mode$|^model$/.test(key) && nearNames(key, ['model'])[0],
      );
      if (slip !== undefined && within !== AGENTS) {
        throw new InvalidInputError(path, [{ path: slip, message: 'unknown key; did you mean model?' }]);
      }
      found.push({ path, data, body, stem: basename(entry, '.md') });
    }
  }
  const texts = found.filter(({ path }) => !path.startsWith(AGENTS));
  const prompts = Object.fromEntries([...byName(texts, warn)].map(([name, { body }]) => [name, body]));
  // Only what is named is made: of the others none needs a key or a warning.
  const agents = {};
  for (const [name, prompt] of byName(found.filter(({ data }) => data.model))) {
    let made: SummarizerAgent | undefined;
    const get = () => {
      made ??= summarizerOf(prompt, prompts, environment, warn);
      return made;
    };
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
      if (name.includes(':')) return laterModel({ id: name }, environment);
      // Everruns names models without their provider.
      return preset === 'everruns' ? laterModel({ id: `${provider}${name}` }, environment) : undefined;
    },
  };
}

/** Finds files by the `name` in their front matter, which goes before the names of files. */
function byName(files: readonly Prompt[], warn?: Beside['onWarning']): ReadonlyMap<string, Prompt> {
  const named = new Map<string, Prompt>();
  for (const file of files) {
    const { name } = file.data;
    if (typeof name !== 'string' || name === '') continue;
    const first = named.get(name);
    if (first === undefined) named.set(name, file);
    else warn?.(`${file.path}: name: ${first.path} has this name too, and counts`);
  }
  return new Map([...files.map((file) => [file.stem, file] as const).toReversed(), ...named]);
}

/**
 * Makes a dedicated summarizer of a file. In an agent of Aura's `system` names a prompt; what limits its tools holds here anyway.
 *
 * @throws {InvalidInputError} for a model that cannot be made.
 */
function summarizerOf(
  { path, data, body }: Prompt,
  prompts: Readonly<Record<string, string>>,
  environment: Environment,
  warn: (message: string) => void,
): SummarizerAgent {
  const isAgent = path.startsWith(AGENTS);
  try {
    const { model, known, ignored } = modelFromAura(data.model, path);
    for (const key of [...Object.keys(known).map((key) => `model.generation.${key}`), ...ignored]) {
      warn(`${path}: ${key}: a key of Aura, which does nothing here`);
    }
    for (const key of Object.keys(data).filter((key) => !isAgent && !OF_PROMPTS.includes(key))) {
      warn(`${path}: ${key}: unknown key, which does nothing`);
    }
    const text = [isAgent ? prompts[String(data.system)] : '', body].filter(Boolean).join('\n\n');
    const made = laterModel(parseModelReference(model, path), environment);
    return text === '' ? { model: made } : { model: made, summaryPrompt: text };
  } catch (cause) {
    if (!InvalidInputError.isInstance(cause)) throw cause;
    const issues = cause.issues.map(({ path: at, message }) => ({
      path: '',
      message: `${path}: ${at || 'model'}: ${message}`,
    }));
    throw new InvalidInputError('compaction configuration', issues, { cause });
  }
}
