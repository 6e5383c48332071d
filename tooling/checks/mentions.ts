import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { commandsOf, isIndented, parseMarkdown } from './fences.js';
import type { Problem } from './problem.js';
import { contributorPages, filesBelow, readManifest } from './workspace.js';

/** First segments of paths that exist only after an installation or a build. */
const made = ['node_modules', 'dist', 'archives'];
const placeholder = /[<*{$…]/;

/** Finds paths and npm scripts that a page for contributors or a GitHub workflow mentions, but that do not exist. */
export function checkMentions(root: string): readonly Problem[] {
  const scripts = Object.keys((readManifest(root).scripts ?? {}) as object);
  const workflows = filesBelow(root, '.github/workflows');
  return [
    ...contributorPages(root).flatMap((page) => codeOf(root, page)),
    ...workflows.flatMap((file) => stepsOf(root, file)),
  ].flatMap(({ file, line, code }) =>
    [...missingPaths(root, code), ...missingScripts(scripts, code)].map((message) => ({
      file,
      ...(line === undefined ? {} : { line }),
      message,
    })),
  );
}

/** A command or path in a page or workflow. */
interface Mention {
  readonly file: string;
  readonly line?: number;
  readonly code: string;
}

/** Returns the text in backticks, and the commands in `sh` fences and in indented code. */
function codeOf(root: string, file: string): readonly Mention[] {
  const markdown = readFileSync(join(root, file), 'utf8');
  const spans = parseMarkdown(markdown)
    .prose.filter((line) => !isIndented(line))
    .flatMap(({ line, text }) =>
      [...text.matchAll(/`([^`]+)`/g)].map(([, span = '']) => ({ line, text: span })),
    );
  return [...spans, ...commandsOf(markdown)].map(({ line, text }) => ({ file, line, code: text }));
}

/** Returns the commands that the steps of a workflow run, including commands in a matrix. */
function stepsOf(root: string, file: string): readonly Mention[] {
  const commands: Mention[] = [];
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    for (const [key, each] of Object.entries(value)) {
      if (typeof each !== 'string') visit(each);
      else if (['run', 'publish', 'version'].includes(key)) commands.push({ file, code: each });
      else if (key === 'node-version-file') commands.push({ file, code: `./${each}` });
    }
  };
  visit(parse(readFileSync(join(root, file), 'utf8')));
  return commands;
}

/** Returns a message for each path in a command that does not exist. After `cd FOLDER`, paths are relative to that folder. */
function missingPaths(root: string, code: string): readonly string[] {
  const messages: string[] = [];
  let folder = '';
  let previous = '';
  for (const word of code.split(/[\s,;]+/)) {
    const path = pathIn(word);
    if (path !== undefined && !existsSync(join(root, folder, path))) {
      messages.push(`names ${join(folder, path)}, which does not exist`);
    }
    if (previous === 'cd' && path !== undefined) folder = path;
    previous = word;
  }
  return messages;
}

/** Returns the path in a word, up to a placeholder; `undefined` if the word is not a path in the repository. */
function pathIn(word: string): string | undefined {
  if (!/^(?:\.\/)?[\w.-][\w.<>*{}$…-]*(?:\/[\w.<>*{}$…-]*)+$/.test(word) && !word.startsWith('./'))
    return undefined;
  const segments = word.split('/').filter((segment) => segment !== '.');
  if (made.includes(segments[0] ?? '')) return undefined;
  const end = segments.findIndex((segment) => placeholder.test(segment));
  const path = segments.slice(0, end === -1 ? undefined : end).join('/');
  return path === '' ? undefined : path;
}

function missingScripts(scripts: readonly string[], code: string): readonly string[] {
  return [...code.matchAll(/\bnpm (?:run (?:--silent )?([\w:-]+)|(test|start)\b)/g)]
    .map(([, run, short]) => run ?? short ?? '')
    .filter((script) => !scripts.includes(script))
    .map((script) => `runs the script "${script}", which package.json does not have`);
}
