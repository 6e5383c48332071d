import type { CallScope, Workspace } from '@x/core';
import type { Kept } from '../fit-tokens.js';
import { logScopeOf } from '../log-scope.js';
import { CORE_FILE, readIfFound } from '../memory-files.js';
import type { WorkspaceContextSettings } from './workspace-context-config.js';

const INDEX_FILE = 'KNOWLEDGE.md';

/** A section, before it is made to fit. */
export interface ContextPart {
  /** What the tag around it says it is. */
  readonly tag: 'instructions' | 'file' | 'knowledge' | 'memory';
  readonly path: string;
  readonly text: string;
  /** How to see what was left out. */
  readonly note: string;
  readonly kept: Kept;
}

/** What there is to show, always in the same order: it does not depend on when files were made or changed. */
export async function contextParts(
  scope: CallScope,
  settings: WorkspaceContextSettings,
  { withMemory }: { readonly withMemory: boolean },
): Promise<readonly ContextPart[]> {
  const { workspace } = scope;
  const { instructions, knowledge } = settings;
  const parts = [
    instructions === false ? undefined : await filePart(workspace, 'instructions', instructions),
    ...(await Promise.all(settings.files.map((path) => filePart(workspace, 'file', path)))),
    knowledge === false ? undefined : await knowledgePart(workspace, knowledge),
    withMemory ? await memoryPart(scope) : undefined,
  ];
  return parts.filter((part) => part !== undefined);
}

async function filePart(
  workspace: Workspace,
  tag: ContextPart['tag'],
  path: string,
): Promise<ContextPart | undefined> {
  const text = (await readIfFound(workspace, path))?.trim();
  if (!text) return undefined;
  return { tag, path, text, note: `[… left out: read_file ${path} has the rest …]`, kept: 'beginning' };
}

async function knowledgePart(workspace: Workspace, folder: string): Promise<ContextPart | undefined> {
  const paths: string[] = [];
  for await (const { path, type } of workspace.list(folder, { recursive: true })) {
    if (type === 'file') paths.push(path);
  }
  const index = `${folder.replace(/\/$/, '')}/${INDEX_FILE}`;
  const text = ((await readIfFound(workspace, index)) ?? '').trim();
  const others = paths.filter((path) => path !== index).sort();
  if (text === '' && others.length === 0) return undefined;
  const list = others.length === 0 ? '' : `Files, to be read with read_file:\n${others.join('\n')}`;
  return {
    tag: 'knowledge',
    path: folder,
    text: [text, list].filter(Boolean).join('\n\n'),
    note: `[… left out: list_files ${folder} and read_file have the rest …]`,
    kept: 'beginning',
  };
}

/** The beginning holds what matters most, the end what was added last: both stay. */
async function memoryPart(scope: CallScope): Promise<ContextPart | undefined> {
  const prefix = logScopeOf(scope)?.prefix;
  if (prefix === undefined) return undefined;
  const path = `${prefix}${CORE_FILE}`;
  const text = (await readIfFound(scope.workspace, path))?.trim();
  if (!text) return undefined;
  return {
    tag: 'memory',
    path: CORE_FILE,
    text,
    note: `[… left out: read_file ${path} has the rest …]`,
    kept: 'both-ends',
  };
}
