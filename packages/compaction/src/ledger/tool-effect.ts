/** What a tool call does to the world, judged by the tool's name. */
export type ToolEffect = 'read' | 'change' | 'run' | 'other';

const CHANGES = /write|edit|create|patch|replace|insert|delete|remove|move|rename|save/i;
const READS = /read|view|open|cat|list|glob|grep|search|find|fetch|get/i;
const PATCHED = /^(?:\*\*\* (?:Add|Update|Delete) File: |\+\+\+ (?:b\/)?)(\S+)/gm;

/** @param runs Whether the call has a command line. */
export function effectOf(tool: string, runs: boolean): ToolEffect {
  if (runs) return 'run';
  if (CHANGES.test(tool)) return 'change';
  return READS.test(tool) ? 'read' : 'other';
}

/** The files that a patch inside an argument changes. */
export function changedPaths(text: string): readonly string[] {
  const paths = new Set<string>();
  for (const [, path] of text.matchAll(PATCHED)) if (path && path !== '/dev/null') paths.add(path);
  return [...paths];
}
