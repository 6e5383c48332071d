import { readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import type { Problem } from './problem.js';
import { documents, type Manifest, members } from './workspace.js';

/** Entry point that only our own packages use. Its names are not documented. */
const INTERNAL = './internal';
const LISTED = /export\s+(?:type\s+)?\{([^}]*)\}/g;
const DECLARED =
  /^export\s+(?:declare\s+)?(?:abstract\s+)?(?:async\s+)?(?:function\*?|const|class|interface|type|let)\s+(\w+)/gm;
const STAR = /export\s+\*\s+from\s+'(\.[^']+)\.js'/g;
const CODE = /```[^\n]*\n([\s\S]*?)```|`([^`\n]+)`/g;

/**
 * Finds public names that users cannot look up, because no document contains them in its code, that is, in backticks. Names of the entry
 * point `./internal` are not public.
 */
export function checkExports(root: string): readonly Problem[] {
  const documented = documentedNames(root);
  return publicNames(root).flatMap(({ file, name }) =>
    documented.has(name)
      ? []
      : [
          {
            file,
            message: `exports ${name}, which no document mentions: document it, export it from ./internal, or remove the export`,
          },
        ],
  );
}

/** Returns every name that a published package exports, with the file of the entry point. Lists a name once per package. */
export function publicNames(root: string): readonly { readonly file: string; readonly name: string }[] {
  return members(root, 'packages').flatMap(({ folder, manifest }) => {
    if (manifest.private === true) return [];
    const seen = new Set<string>();
    return sourcesOf(manifest).flatMap((source) => {
      const file = posix.join(folder, source);
      return namesOf(root, file).flatMap((name) => {
        if (seen.has(name)) return [];
        seen.add(name);
        return [{ file, name }];
      });
    });
  });
}

function sourcesOf({ exports = {} }: Manifest): readonly string[] {
  return Object.entries(exports as Record<string, string | { readonly '@x/source'?: string }>).flatMap(
    ([entry, target]) => {
      const source = typeof target === 'string' ? undefined : target['@x/source'];
      return entry === INTERNAL || source === undefined ? [] : [source];
    },
  );
}

function namesOf(root: string, file: string): readonly string[] {
  const text = readFileSync(join(root, file), 'utf8');
  const listed = [...text.matchAll(LISTED)].flatMap(([, names = '']) =>
    names
      .split(',')
      .map((name) =>
        name
          .trim()
          .replace(/^type\s+/, '')
          .replace(/^.*\sas\s+/, ''),
      )
      .filter((name) => name !== ''),
  );
  const declared = [...text.matchAll(DECLARED)].map(([, name = '']) => name);
  const behind = [...text.matchAll(STAR)].flatMap(([, path = '']) =>
    namesOf(root, `${posix.join(posix.dirname(file), path)}.ts`),
  );
  return [...listed, ...declared, ...behind];
}

function documentedNames(root: string): ReadonlySet<string> {
  const names = new Set<string>();
  for (const file of documents(root)) {
    for (const [, fence, span] of readFileSync(join(root, file), 'utf8').matchAll(CODE)) {
      for (const [name] of (fence ?? span ?? '').matchAll(/\w+/g)) names.add(name);
    }
  }
  return names;
}
