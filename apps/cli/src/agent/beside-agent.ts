import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { InvalidInputError, type Model, nearNames } from '@x/core';
import { parseFrontMatter, parseModelReference } from '@x/harness';
import { parseDocument } from 'yaml';
import { UsageError } from '../command.js';
import { readInput } from '../read-input.js';
import { modelFromAura } from './aura-file.js';
import type { Beside } from './capabilities.js';
import { laterModel } from './choose-model.js';

/** The file of compaction settings for every agent in a directory; Aura keeps it in `features`. */
const COMPACTION_FILES = ['', 'features/'].flatMap((folder) =>
  ['yaml', 'yml'].map((extension) => `${folder}compaction.${extension}`),
);
/** The folder of prompts that a compaction names; a prompt whose front matter names a model is a dedicated summarizer. */
export const PROMPTS = 'prompts';
/** What their front matter may say beside the model, for people. */
const OF_PROMPTS = ['name', 'description'];

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
  environment: Readonly<Record<string, string | undefined>>,
  warn: (message: string) => void,
): Promise<Beside> {
  const [file, other] = COMPACTION_FILES.filter((name) => existsSync(join(directory, name)));
  if (other !== undefined) {
    throw new UsageError(`${directory} holds ${file} and ${other}: one of them would not count. Delete one.`);
  }
  const folder = join(directory, PROMPTS);
  const prompts: Record<string, string> = {};
  const agents: Record<string, NonNullable<Beside['agents']>[string]> = {};
  /** Files by the `name` in their front matter, which goes before the names of files. */
  const named = new Map<string, string>();
  for (const entry of existsSync(folder) ? (await readdir(folder)).toSorted() : []) {
    if (!entry.endsWith('.md')) continue;
    const path = `${PROMPTS}/${entry}`;
    const { data, body } = parseFrontMatter(await readInput(join(folder, entry)), path);
    const { model: written, hide: _hide, ...others } = data;
    const { model: summarizer, known, ignored } = modelFromAura(written, path);
    for (const key of [...Object.keys(known).map((key) => `model.generation.${key}`), ...ignored]) {
      warn(`${path}: ${key}: a key of Aura, which does nothing here`);
    }
    for (const key of Object.keys(others)) {
      if (key !== 'mode' && nearNames(key, ['model']).length > 0) {
        throw new InvalidInputError(path, [{ path: key, message: 'unknown key; did you mean model?' }]);
      }
      if (!OF_PROMPTS.includes(key)) warn(`${path}: ${key}: unknown key, which does nothing`);
    }
    const stem = basename(entry, '.md');
    if (typeof others.name === 'string' && others.name !== '') {
      const first = named.get(others.name);
      if (first === undefined) named.set(others.name, stem);
      else warn(`${path}: name: ${PROMPTS}/${first}.md has this name too, and counts`);
    }
    prompts[stem] = body;
    if (summarizer === undefined) continue;
    const reference = parseModelReference(summarizer, path);
    const model = await modelOf(path, 'model', () => laterModel(reference, environment));
    agents[stem] = body === '' ? { model } : { model, summaryPrompt: body };
  }
  return {
    ...(file === undefined
      ? {}
      : { compaction: await readYaml(join(directory, file)), compactionFile: file }),
    prompts: withNames(prompts, named),
    agents: withNames(agents, named),
    folder,
    onWarning: warn,
    models(name, preset) {
      if (name.includes(':')) return laterModel({ id: name }, environment);
      // Everruns names models without their provider.
      return preset === 'everruns' ? laterModel({ id: `${provider}${name}` }, environment) : undefined;
    },
  };
}

/** Adds the names in front matter to a table by the names of files. */
function withNames<Value>(
  byFile: Readonly<Record<string, Value>>,
  named: ReadonlyMap<string, string>,
): Readonly<Record<string, Value>> {
  const found = [...named].flatMap(([name, stem]) => {
    const value = byFile[stem];
    return value === undefined ? [] : [[name, value] as const];
  });
  return { ...byFile, ...Object.fromEntries(found) };
}

/** Says in which file, and where in it, a model stands that cannot be made. */
async function modelOf(file: string, path: string, make: () => Model | Promise<Model>): Promise<Model> {
  try {
    return await make();
  } catch (cause) {
    if (!InvalidInputError.isInstance(cause)) throw cause;
    const issues = cause.issues.map(({ message }) => ({ path, message }));
    throw new InvalidInputError(file, issues, { cause });
  }
}

/** Reads a file of YAML, or of JSON. */
export async function readYaml(file: string): Promise<unknown> {
  // JSON is YAML too.
  const document = parseDocument(await readInput(file), { logLevel: 'error' });
  const [error] = document.errors;
  if (error !== undefined) throw new UsageError(`${file} is no YAML: ${error.message}`);
  return document.toJS({ maxAliasCount: 100 });
}
