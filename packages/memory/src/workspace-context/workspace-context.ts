import { type Capability, estimateCounter, parseWith } from '@x/core';
import { fitTokens } from '../fit-tokens.js';
import { type ContextPart, contextParts } from './context-parts.js';
import { shareTokens } from './share-tokens.js';
import { type WorkspaceContextConfig, workspaceContextConfigSchema } from './workspace-context-config.js';

/** Estimated tokens of the tags around a section. */
const FRAME_TOKENS = 30;

/**
 * Puts files of the workspace into the system prompt: instructions (`AGENTS.md`), files of your choice, the `knowledge`
 * folder, and the user's MEMORY.md unless the agent has `memory()`, which shows it itself. The sections change when a file
 * changes and at no other time, so that a provider's cache of the prompt survives.
 *
 * @throws {InvalidInputError} for a malformed configuration.
 */
export function workspaceContext(config: WorkspaceContextConfig = {}): Capability {
  const settings = parseWith(workspaceContextConfigSchema, config, 'workspaceContext configuration');
  /** Agents that show MEMORY.md already. */
  const remembering = new Set<string>();
  return {
    name: 'workspace_context',
    install({ name, capabilities }) {
      if (capabilities.some((capability) => capability.name === 'memory')) remembering.add(name);
    },
    async system(scope) {
      if (settings.maxTokens === 0) return undefined;
      const withMemory = settings.memory && !remembering.has(scope.agentId);
      return render(await contextParts(scope, settings, { withMemory }), settings.maxTokens);
    },
  };
}

function render(parts: readonly ContextPart[], maxTokens: number): string | undefined {
  if (parts.length === 0) return undefined;
  const needs = parts.map(({ text }) => estimateCounter.count(text) + FRAME_TOKENS);
  const shares = shareTokens(needs, maxTokens);
  return parts.map((part, index) => section(part, (shares[index] ?? 0) - FRAME_TOKENS)).join('\n\n');
}

// A file must not be able to end its own quotation, or to begin another one.
function section({ tag, path, text, note, kept }: ContextPart, maxTokens: number): string {
  const fitted = fitTokens(text, Math.max(0, maxTokens), note, kept);
  const quoted = fitted.replaceAll(/<(?=\s*\/?\s*(?:instructions|file|knowledge|memory)\b)/gi, '‹');
  return `<${tag} path=${JSON.stringify(path)}>\n${quoted}\n</${tag}>`;
}
