import { type CallScope, type Capability, estimateCounter, type Workspace, WorkspaceError } from '@x/core';
import { escapeTags, keepingKinds, parseWith } from '@x/core/internal';
import * as z from 'zod';
import { readIfFound } from './memory-files.js';
import { fitTokens } from './message-text.js';

const isInside = (path: string) => !path.split(/[\\/]/).includes('..') && !path.includes('\0');
const path = z.string().min(1).refine(isInside, 'must be inside the workspace');

export const workspaceContextConfigSchema = z.strictObject({
  /** Maximum size of all sections together, in estimated tokens. The rest is replaced by a note that says how to read it. Default 8 000. */
  maxTokens: z.int().min(0).default(8_000),
  /** The file with instructions for the agent, as a path in the workspace. `false`: no file. Default `AGENTS.md`. */
  instructions: z.union([path, z.literal(false)]).default('AGENTS.md'),
  /** More files to show, in this order. Default: none. */
  files: z.array(path).default([]),
});

/** Options of `workspaceContext`. */
type WorkspaceContextConfig = z.input<typeof workspaceContextConfigSchema>;
type WorkspaceContextSettings = z.output<typeof workspaceContextConfigSchema>;

const NAME = 'workspace_context';
/** Estimated tokens of the tags around a section. */
const FRAME_TOKENS = 30;
/** Bytes of a file that are read per token of the budget. Enough for any text. */
const BYTES_PER_TOKEN = 32;

/**
 * Puts files of the workspace into the system prompt: instructions (`AGENTS.md`), and files that you choose. The sections change only when
 * a file changes, so the provider's prompt cache stays valid. A file that cannot be read, such as a link out of the workspace, is omitted
 * with a warning. Use `memory()` to show MEMORY.md.
 *
 * @example
 * ```ts
 * HarnessAgent.builder().use(workspaceContext({ files: ['STYLE.md'] }));
 * ```
 * @throws {InvalidInputError} for unknown or invalid options.
 */
export function workspaceContext(config: WorkspaceContextConfig = {}): Capability {
  const settings = parseWith(workspaceContextConfigSchema, config, 'workspaceContext configuration');
  const warned = new WeakMap<CallScope, Set<string>>();
  /** Warns once per call, because the files are read again in each step. */
  const warn = (scope: CallScope, message: string) => {
    const known = warned.get(scope) ?? new Set();
    warned.set(scope, known);
    if (!known.has(message)) scope.emit({ type: 'warning', source: NAME, message });
    known.add(message);
  };
  return {
    name: NAME,
    async system(scope) {
      const parts =
        settings.maxTokens === 0
          ? []
          : await contextParts(scope, settings, (message) => warn(scope, message));
      if (parts.length === 0) return undefined;
      const needs = parts.map(({ text }) => estimateCounter.count(text) + FRAME_TOKENS);
      const shares = shareTokens(needs, settings.maxTokens);
      return parts.map((part, index) => section(part, (shares[index] ?? 0) - FRAME_TOKENS)).join('\n\n');
    },
  };
}

// The content of a file must not be able to close its tag, or to open another one.
function section({ tag, path, text, note }: ContextPart, maxTokens: number): string {
  const fitted = fitTokens(text, Math.max(0, maxTokens), note, 'beginning');
  const quoted = escapeTags(fitted, 'instructions', 'file', 'memory');
  return `<${tag} path=${JSON.stringify(path)}>\n${quoted}\n</${tag}>`;
}

/** A section before it is shortened. */
interface ContextPart {
  /** The name of the tag around the section. */
  readonly tag: 'instructions' | 'file';
  readonly path: string;
  readonly text: string;
  /** Says how to read the omitted text. */
  readonly note: string;
}

/** Returns the parts to show, always in the same order. */
async function contextParts(
  { workspace }: CallScope,
  { instructions, files, maxTokens }: WorkspaceContextSettings,
  warn: (message: string) => void,
): Promise<readonly ContextPart[]> {
  const maxBytes = BYTES_PER_TOKEN * maxTokens;
  const partOf = async (tag: ContextPart['tag'], path: string) => {
    const note = `[… left out: read_file ${path} has the rest …]`;
    const text = await textOf(workspace, path, maxBytes, note).catch((error: unknown) => {
      // If the store fails temporarily, the call fails. Omitting the file would change the prompt.
      if (!WorkspaceError.isInstance(error) || error.code === 'workspace_io') throw error;
      warn(`Omitted from the system prompt: ${error.message}`);
      return '';
    });
    return { tag, path, text, note };
  };
  const parts = await Promise.all([
    ...(instructions === false ? [] : [partOf('instructions', instructions)]),
    ...files.map((path) => partOf('file', path)),
  ]);
  return parts.filter(({ text }) => text !== '');
}

/** Reads a file. Its name may be a link to a file with the same extension. */
async function textOf(workspace: Workspace, path: string, maxBytes: number, note: string): Promise<string> {
  const files = keepingKinds(workspace);
  const read = (at: string) => files.read(at, { length: maxBytes });
  const text = (await readIfFound({ read }, path)) ?? '';
  const isCut = Buffer.byteLength(text) >= maxBytes;
  return isCut ? `${text.trim()}\n${note}` : text.trim();
}

/** Divides a budget by max-min fairness: no part gets more than it needs, and the rest is divided equally. */
export function shareTokens(needs: readonly number[], budget: number): readonly number[] {
  const shares = needs.map(() => 0);
  const order = [...needs.keys()].sort((left, right) => (needs[left] ?? 0) - (needs[right] ?? 0));
  let rest = budget;
  for (const [done, index] of order.entries()) {
    const share = Math.min(needs[index] ?? 0, Math.floor(rest / (order.length - done)));
    shares[index] = share;
    rest -= share;
  }
  return shares;
}
