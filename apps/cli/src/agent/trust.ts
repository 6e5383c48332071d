import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, parse, relative, resolve, sep } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { isObject, STORAGE } from '@x/core/internal';
import { oneLine } from '@x/harness/view';
import { shellCommand, UsageError } from '../command.js';
import { realPathOf } from '../stores.js';

/** Models. Their servers and API keys come only from the environment. */
const MODELS = ['model', 'fallback'];
/** Capabilities with limits, and with texts that instruct a model. */
const TUNED = ['compaction', 'tool_result_eviction', 'infinity_context'];
/** Keys that need no trust. They start no program, grant no permission and access no file outside the agent's folder. */
const HARMLESS = [
  ...[...MODELS, ...TUNED, '$schema', 'name', 'description', 'system_prompt', 'tools', 'deny', 'isolation'],
  ...['checkpoint', 'on_conflict', 'turns', 'limits', 'permissions.ask', 'permissions.deny'],
  ...['agents_files', 'skills', 'budget', 'todo_list', 'plan_mode', 'workspace_tools'],
  ...['tool_groups', 'workspace_context'],
];

type Config = Readonly<Record<string, unknown>>;
type Entry = readonly [name: string, value: unknown];

/** `true` trusts the file until it changes. A function asks a person. */
export type Trust = boolean | ((question: string) => Promise<boolean>);

/**
 * Rejects an agent file that starts programs, allows calls, uses the environment or leaves its folder, unless a person has trusted it. The
 * trust record covers the path of the file, its settings except models and limits, and the contents of the files in its folder that the
 * settings name, with or without extension. If the settings name a folder, all of its files are covered. If a command contains a wildcard, an expansion or `.`, all
 * files of the agent's folder are covered. Permissions cover only the files that they name.
 *
 * @param trust Default: only files that were trusted before.
 * @returns a function that stores the trust. Call it after the whole file was validated.
 * @throws {UsageError} with everything that would run, if the file is not trusted.
 */
export async function requireTrust(file: string, config: Config, trust?: Trust): Promise<() => void> {
  const realFile = realPathOf(resolve(file));
  const needsTrust = (entry: Entry) => !isHarmless(entry, dirname(realFile));
  const all = entriesOf(config);
  const entries = all.filter(needsTrust);
  const files = coveredFiles(realFile, entries);
  const records = join(homedir(), STORAGE, 'trusted');
  const recordOf = (settings: readonly Entry[]) =>
    join(records, digest(JSON.stringify([realFile, settings, files])));
  const settings = all.filter((entry) => needsTrust(entry) || !isTuning(entry));
  const record = recordOf(settings);
  const parts = [...settings.map(partOfSetting), ...files];
  // The parts that were trusted last at this path, to name those that have changed since.
  const last = join(records, digest(realFile));
  if (entries.length === 0 || existsSync(record)) return () => {};
  const list = entries.map(([name, value]) => `  ${oneLine(`${name}: ${JSON.stringify(value)}`)}`).join('\n');
  const summary = `${file} ${trustOf(last, parts)}. It starts, allows or uses:\n${list}\n`;
  if (typeof trust === 'function' ? !(await trust(`${summary}Trust it?`)) : !trust) {
    throw new UsageError(
      `${summary}Read the file, and the programs that it names. If you trust them: ${shellCommand(['run', file], {})} --trust`,
    );
  }
  return () => {
    mkdirSync(records, { recursive: true, mode: 0o700 });
    writeFileSync(last, parts.join('\n'), { mode: 0o600 });
    // A file with a variable in its model is also trusted without this variable.
    const untuned = recordOf(settings.filter(([name]) => !isIn(MODELS, name)));
    for (const each of [record, untuned]) writeFileSync(each, '', { mode: 0o600 });
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
  // A variable may expand to any value, also to the name of a program. If it has a secret, the secret may be sent to a model or server.
  if (JSON.stringify([name, value]).includes('${')) return false;
  // Only texts can name programs, files or rules.
  const isEmpty = isObject(value) && Object.keys(value).length === 0;
  if (isEmpty || typeof value === 'number' || typeof value === 'boolean') return true;
  if (name === 'workspace' && typeof value === 'string')
    return `${realPathOf(resolve(folder, value))}${sep}`.startsWith(`${folder}${sep}`);
  return isIn(HARMLESS, name);
}

/** Returns `true` for a setting that may change in a trusted file, because it neither instructs nor restricts the agent. */
function isTuning([name, value]: Entry): boolean {
  return isIn(MODELS, name) || (isIn(TUNED, name) && !hasText(value));
}

function hasText(value: unknown): boolean {
  return typeof value === 'string' || Object.values(Object(value)).some(hasText);
}

function isIn(keys: readonly string[], name: string): boolean {
  return keys.includes(name) || keys.includes(name.split('.', 1).join());
}

/** Says whether a file was trusted before, and which parts have changed since. */
function trustOf(last: string, parts: readonly string[]): string {
  if (!existsSync(last)) return 'is not trusted yet';
  const [before, now] = [new Set(readFileSync(last, 'utf8').split('\n')), new Set(parts)];
  const changed = [...now, ...before].filter((part) => now.has(part) !== before.has(part));
  const names = new Set(changed.map((part) => partOf(part)[0]));
  const words = [...names].map((name) => {
    const [was, is] = [before, now].map((all) => [...all].map(partOf).find((part) => part[0] === name)?.[1]);
    return was && is ? `${name} ${was} → ${is}` : name;
  });
  return `has changed since you trusted it: ${words.join(', ') || 'the order of its settings'}`;
}

/** Returns the name in a line of trusted parts, and the value if it is in the line. */
function partOf(part: string): readonly string[] {
  return part.slice(part.indexOf(' ') + 1).split('\t');
}

/** Maximum length of a value that is shown when it has changed. */
const MAX_VALUE = 60;

/** Returns a line with the digest and the name of a setting. For short settings that need no trust, the line also contains the value. */
function partOfSetting([name, value]: Entry): string {
  const text = JSON.stringify(value);
  const isShown = isIn(HARMLESS, name) && text.length <= MAX_VALUE;
  return `${digest(text)} ${oneLine(name)}${isShown ? `\t${oneLine(text)}` : ''}`;
}

/** Returns a line with a digest and a name for each file that the trust covers. See {@link requireTrust}. */
function coveredFiles(file: string, entries: readonly Entry[]): readonly string[] {
  const [rules, others] = [true, false].map((isRule) =>
    textOf(entries.filter(([name]) => !isIn(HARMLESS, name) && name.startsWith('permissions') === isRule)),
  ) as [string, string];
  // A setting may name a program by its folder, or without its extension.
  const isStarted = namesIn(others);
  const isNamed = (name: string) => [name, parse(name).name, name.replaceAll(QUOTES, '')].some(isStarted);
  // The agent works on the folders that its permissions name. `npm test` does not name `test.ts`: only a path may lack an extension.
  const [isWord, isPath] = [namesIn(rules), namesIn(rules.match(NO_EXTENSION)?.join('\n') ?? '')];
  const isAllowed = (name: string) => isWord(name) || isPath(parse(name).name);
  const isWhole = WHOLE.test(others.replaceAll(STANDALONE, ''));
  const files = filesIn(dirname(file), { isNamed, isAllowed }, isWhole).filter((path) => path !== file);
  return files.map((path) => `${digestOf(path)} ${oneLine(relative(dirname(file), path))}`);
}

/** Returns a function that tests if a text contains a name. The word `-msrv` may be an option with the name `srv`. */
function namesIn(text: string): (name: string) => boolean {
  const words = text
    .split(SEPARATORS)
    .flatMap((word) => (/^[-+@]/.test(word) ? Array.from(word, (_, start) => word.slice(start)) : [word]));
  const all = new Set(words);
  return (name) => all.has(name) || (SEPARATORS.test(name) && text.includes(name));
}

function digest(data: string | Buffer): string {
  return createHash('sha256').update(data).digest('hex');
}

/** Returns the hash of a file. If this user cannot read the file, returns the hash of no bytes. */
function digestOf(path: string): string {
  try {
    return digest(readFileSync(path));
  } catch {
    return digest('');
  }
}

/** Returns all texts in the entries, each unchanged and without the quotes that a shell would remove. */
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
/** Matches the last names of paths, if they have no extension. */
const NO_EXTENSION = /(?<=\/)[^\s./)]+(?![^\s)])/g;
/** Separates words. File names that contain a separator are searched as substrings. */
const SEPARATORS = /[^\p{L}\p{N}\p{M}_@+-]+/u;
/**
 * Matches wildcards and expansions of a shell, programs that run a list, and folders of dots (`.`, `./...`). With these, a command can run a
 * file that it does not name.
 */
const WHOLE = /[*?[{$`]|\b(?:xargs|parallel)\b|(?<![\w.])\.+\/*(?![\w./-])/;
/** Matches URLs, and variables that are whole words. They are ignored, because they cannot complete a file's name. */
const STANDALONE = /(?<!\S)(?:\$\{\w+\}(?!\S)|https?:\/\/[\w./:?=%#@~+-]*)/g;
/** Folders that change in each run. They are covered only if an entry names them, not as part of a whole folder. */
const CHANGING_FOLDERS = new Set(['.git', 'node_modules', STORAGE]);

/**
 * Lists the covered files: named and allowed files in the folder and its subfolders, and all files of named folders. The order is stable.
 * Each folder is read once.
 */
function filesIn(
  folder: string,
  tests: Readonly<Record<'isNamed' | 'isAllowed', (name: string) => boolean>>,
  isWhole: boolean,
  seen = new Set<string>(),
): readonly string[] {
  const key = `${isWhole} ${realPathOf(folder)}`;
  if (seen.has(key)) return [];
  seen.add(key);
  return entriesIn(folder).flatMap((entry) => {
    const path = join(folder, entry.name);
    const isCovered = tests.isNamed(entry.name) || (isWhole && !CHANGING_FOLDERS.has(entry.name));
    const isSearched = entry.isDirectory() && !entry.name.startsWith('.') && entry.name !== 'node_modules';
    const isRead = isCovered || isSearched || tests.isAllowed(entry.name);
    const found = isRead ? statSync(path, { throwIfNoEntry: false }) : undefined;
    if (found?.isFile()) return [path];
    return found?.isDirectory() ? filesIn(path, tests, isCovered, seen) : [];
  });
}

/** Returns the entries of a folder, sorted. A folder that this user cannot read counts as empty. */
function entriesIn(folder: string) {
  try {
    const entries = readdirSync(folder, { withFileTypes: true });
    return entries.toSorted((one, other) => (one.name < other.name ? -1 : 1));
  } catch {
    return [];
  }
}
