import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, parse, resolve, sep } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { isObject, STORAGE } from '@x/core/internal';
import { oneLine } from '@x/harness/view';
import { shellCommand, UsageError } from '../command.js';
import { realPathOf } from '../stores.js';

/** Keys that an untrusted file may use: they start nothing, allow nothing and stay in its folder. */
const HARMLESS = new Set([
  ...['$schema', 'name', 'description', 'model', 'fallback', 'system_prompt', 'tools', 'deny', 'isolation'],
  ...['checkpoint', 'on_conflict', 'turns', 'limits', 'permissions.ask', 'permissions.deny'],
  ...['compaction', 'tool_result_eviction', 'infinity_context', 'agents_files', 'skills', 'budget'],
  ...['todo_list', 'plan_mode', 'workspace_tools', 'tool_groups'],
]);

type Config = Readonly<Record<string, unknown>>;
type Entry = readonly [name: string, value: unknown];

/** `true` trusts the file from now on. A function asks a person. */
export type Trust = boolean | ((question: string) => Promise<boolean>);

/**
 * Lets an agent file start programs, allow calls, use the environment or leave its folder only if a person has trusted it. Trust is bound
 * to the file's path, to its settings, and to the contents of the files in its folder that they name, with or without an ending, or by
 * their folder. If what they start has a pattern or an expansion in it, it is bound to all files of the folder.
 *
 * @param trust Default: only files that were trusted before.
 * @returns a function that stores the trust. Call it when nothing in the file was found invalid.
 * @throws {UsageError} with everything that would run, if the file is not trusted.
 */
export async function requireTrust(file: string, config: Config, trust?: Trust): Promise<() => void> {
  const place = realPathOf(resolve(file));
  const entries = entriesOf(config).filter((entry) => !isHarmless(entry, dirname(place)));
  const record = join(homedir(), STORAGE, 'trusted', hashOf(place, config, entries));
  if (entries.length === 0 || existsSync(record)) return () => {};
  const list = entries.map(([name, value]) => `  ${oneLine(`${name}: ${JSON.stringify(value)}`)}`).join('\n');
  const says = `${file} was not trusted before, or has changed. It starts, allows or uses:\n${list}\n`;
  if (typeof trust === 'function' ? !(await trust(`${says}Trust it?`)) : !trust) {
    throw new UsageError(
      `${says}Read it, and the programs that it names. If you trust them: ${shellCommand(['run', file], {})} --trust`,
    );
  }
  return () => {
    mkdirSync(dirname(record), { recursive: true, mode: 0o700 });
    writeFileSync(record, '', { mode: 0o600 });
  };
}

/** Returns a function that asks on the terminal; `undefined` if there is no interactive terminal. */
export function terminalTrust(): Trust | undefined {
  if (process.stdin.isTTY !== true || process.stderr.isTTY !== true) return undefined;
  return async (question) => {
    const lines = createInterface({ input: process.stdin, output: process.stderr });
    const left = new AbortController();
    lines.once('close', () => left.abort());
    const answer = await lines.question(`${question} (y/n) `, { signal: left.signal }).catch(() => '');
    lines.close();
    return /^y(?:es)?$/i.test(answer.trim());
  };
}

/** Lists the entries of a file. Each key of a capability's configuration is an entry under the capability's name. */
function entriesOf({ capabilities, features, ...keys }: Config): readonly Entry[] {
  const listed = (Array.isArray(capabilities) ? capabilities : []).map((each): Entry => {
    const { ref, config } = Object(each);
    return [String(ref ?? each), config ?? {}];
  });
  const all = [...Object.entries(keys), ...listed, ...Object.entries(Object(features))];
  return all.flatMap(([name, value]): readonly Entry[] =>
    isObject(value)
      ? [[name, {}], ...Object.entries(value).map(([key, item]): Entry => [`${name}.${key}`, item])]
      : [[name, value]],
  );
}

function isHarmless([name, value]: Entry, folder: string): boolean {
  // A variable may contain a name, and a secret in it might be sent to a model or server.
  if (JSON.stringify([name, value]).includes('${')) return false;
  const isEmpty = isObject(value) && Object.keys(value).length === 0;
  if (isEmpty || typeof value === 'number' || typeof value === 'boolean') return true;
  if (name === 'workspace' && typeof value === 'string')
    return `${realPathOf(resolve(folder, value))}${sep}`.startsWith(`${folder}${sep}`);
  return HARMLESS.has(name) || HARMLESS.has(name.split('.', 1).join());
}

/** Returns a hash of what would run: the file's path, its settings, and the files of its folder that its entries name. */
function hashOf(file: string, config: Config, entries: readonly Entry[]): string {
  const hash = createHash('sha256').update(JSON.stringify([file, config]));
  const all = textOf(entries);
  // What is started may be named by its folder or without its ending. A permission such as `npm test` names neither.
  const started = textOf(entries.filter(([name]) => !name.startsWith('permissions')));
  const words = new Set(started.split(NO_WORD).flatMap(namesIn));
  const isStarted = (name: string) => words.has(name) || (NO_WORD.test(name) && started.includes(name));
  const isNamed = (name: string) =>
    [name, parse(name).name, name.replaceAll(QUOTES, '')].some(isStarted) ||
    (name.includes('.') && all.includes(name));
  const isWhole = EXPANDED.test(started.replaceAll(WHOLE, ''));
  for (const path of filesIn(dirname(file), isNamed, isWhole))
    if (path !== file) hash.update(path).update(digestOf(path));
  return hash.digest('hex');
}

/** Returns the names that a word may hold: `-msrv` may be an option with the name `srv`. */
function namesIn(word: string): readonly string[] {
  return /^[-+@]/.test(word) ? Array.from(word, (_, start) => word.slice(start)) : [word];
}

/** Returns the hash of a file, or of nothing if this user cannot read it, and so cannot run it. */
function digestOf(path: string): Buffer {
  const hash = createHash('sha256');
  try {
    hash.update(readFileSync(path));
  } catch {
    // Nothing to add.
  }
  return hash.digest();
}

/** Returns all texts of entries, each as it is and as a shell reads it, without quotes. */
function textOf(entries: readonly Entry[]): string {
  const texts: string[] = [];
  JSON.stringify(entries, (key, value: unknown) => {
    for (const text of [key, value])
      if (typeof text === 'string') texts.push(text, text.replaceAll(QUOTES, ''));
    return value;
  });
  return texts.join('\n');
}

const QUOTES = /\\\n|["'\\]/g;
/** Separates words. A name with one of these characters in it counts wherever it is in a text. */
const NO_WORD = /[^\p{L}\p{N}\p{M}_@+-]+/u;
/** Matches what a shell may expand to any name, and the program that takes names from a list. */
const EXPANDED = /[*?[{$`]|\bxargs\b/;
/** Matches addresses, and variables that are whole words: none of them is a part of a file's name. */
const WHOLE = /(?<!\S)(?:\$\{\w+\}(?!\S)|https?:\/\/[\w./:?=%#@~+-]*)/g;
/** Folders that change in each run. Of a whole folder, they count only if an entry has their name. */
const NOT_WHOLE = new Set(['.git', 'node_modules', STORAGE]);

/** Lists the named files of a folder and its subfolders in a stable order, and all files of a named folder. Looks at each folder once. */
function filesIn(
  folder: string,
  isNamed: (name: string) => boolean,
  isWhole: boolean,
  seen = new Set<string>(),
): readonly string[] {
  const place = `${isWhole} ${realPathOf(folder)}`;
  if (seen.has(place)) return [];
  seen.add(place);
  return entriesIn(folder).flatMap((entry) => {
    const path = join(folder, entry.name);
    const isIn = isNamed(entry.name) || (isWhole && !NOT_WHOLE.has(entry.name));
    const isPlain = entry.isDirectory() && !entry.name.startsWith('.') && entry.name !== 'node_modules';
    const found = isIn || isPlain ? statSync(path, { throwIfNoEntry: false }) : undefined;
    if (found?.isFile()) return [path];
    return found?.isDirectory() ? filesIn(path, isNamed, isIn, seen) : [];
  });
}

/** Returns the entries of a folder, sorted. A folder that this user cannot read holds nothing that it could run. */
function entriesIn(folder: string) {
  try {
    const entries = readdirSync(folder, { withFileTypes: true });
    return entries.toSorted((one, other) => (one.name < other.name ? -1 : 1));
  } catch {
    return [];
  }
}
