/** What a tool call does to the world, judged by the tool's name. */
export type ToolEffect = 'read' | 'change' | 'run' | 'other';

// Beginnings of words: a thread is not read, nor is an application.
const CHANGES =
  /^(?:write|overwrite|edit|multiedit|create|patch|replace|insert|append|apply|update|modify|delete|remove|move|rename|save)/;
const READS = /^(?:read|view|open|cat$|list|ls$|glob|grep|search|find|fetch|get)/;
const WORD_BOUNDARY = /[^\p{L}\p{N}]+|(?<=\p{Ll})(?=\p{Lu})/u;
const PATCHED = /^(?:\*\*\* (?:Add|Update|Delete) File: |\+\+\+ (?:b\/)?)(\S+)/gm;

/** The effects of tools that were asked about: they are few, and asked about for every call. */
const known = new Map<string, ToolEffect>();
const MOST_KNOWN = 1_000;

/** @param runs Whether the call has a command line. */
export function effectOf(tool: string, runs: boolean): ToolEffect {
  if (runs) return 'run';
  let effect = known.get(tool);
  if (effect === undefined) {
    effect = effectOfName(tool);
    if (known.size >= MOST_KNOWN) known.clear();
    known.set(tool, effect);
  }
  return effect;
}

function effectOfName(tool: string): ToolEffect {
  const words = tool.split(WORD_BOUNDARY).map((word) => word.toLowerCase());
  if (words.some((word) => CHANGES.test(word))) return 'change';
  return words.some((word) => READS.test(word)) ? 'read' : 'other';
}

/** The files that a patch inside an argument changes. */
export function changedPaths(text: string): readonly string[] {
  if (!text.includes('*** ') && !text.includes('+++ ')) return [];
  const paths = new Set<string>();
  for (const [, path] of text.matchAll(PATCHED)) if (path && path !== '/dev/null') paths.add(path);
  return [...paths];
}
