import { createHash } from 'node:crypto';
import {
  type Capability,
  fileSegment,
  headOf,
  parseWith,
  SessionKey,
  sessionPrefix,
  type ToolOutputBlock,
  type ToolResultBlock,
  type ToolScope,
  tailOf,
} from '@x/core';
import { describe } from '../describe.js';
import { matchesTool } from '../match-tool.js';
import { evictedBlock } from './evicted-path.js';
import { type EvictionConfig, evictionConfigSchema } from './eviction-config.js';

/**
 * Writes the text of a large tool result to the workspace when the tool returns, before anything is counted, and leaves
 * its size, its head, its tail and a pointer for `read_file`. Files in the result stay. When the write fails the result
 * stays whole.
 *
 * @throws {InvalidInputError} naming every bad key.
 */
export function toolResultEviction(config: EvictionConfig = {}): Capability {
  const settings = parseWith(evictionConfigSchema, config, 'toolResultEviction configuration');
  const { maxResultChars, previewChars, excludeTools } = settings;
  const directory = settings.evictionPath.replaceAll(/^\/+|\/+$/g, '');

  return {
    name: 'tool_result_eviction',
    async aroundTool(call, scope, next) {
      const result = await next(call);
      if (maxResultChars === 0 || matchesTool(excludeTools, call.name)) return result;
      const text = joinedText(result.output);
      if (text.length <= maxResultChars) return result;

      const path = `${directory}/${pathFor(scope, result, text)}`;
      try {
        await scope.workspace.write(path, text);
      } catch (error) {
        scope.emit({
          type: 'warning',
          source: 'tool_result_eviction',
          message: `A result of ${call.name} (${text.length} characters) stays whole: ${describe(error)}`,
        });
        return result;
      }
      scope.emit({ type: 'tool.evicted', toolUseId: result.toolUseId, path, chars: text.length });
      const files = result.output.filter((part) => part.type !== 'text');
      return { ...result, output: [evictedBlock(preview(result, text, path, previewChars), path), ...files] };
    },
  };
}

function joinedText(output: readonly ToolOutputBlock[]): string {
  return output.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
}

/** Below the prefix of whoever the session belongs to; names are encoded, and the hash keeps results of a reused id apart. */
function pathFor(scope: ToolScope, result: ToolResultBlock, text: string): string {
  const hash = createHash('sha256').update(text).digest('hex').slice(0, 8);
  const { tenantId, userId, sessionId } = scope.state;
  const key = SessionKey.of({ tenantId, userId, agentId: scope.agentId, sessionId });
  return `${sessionPrefix(key)}${key.path.sessionId}/${fileSegment(result.toolUseId)}-${hash}.txt`;
}

function preview(result: ToolResultBlock, text: string, path: string, length: number): string {
  const omitted = Math.max(0, text.length - 2 * length);
  return [
    `[The result of ${result.toolName} has ${text.length} characters in ${text.split('\n').length} lines. It was written ` +
      `to ${path}: read the parts you need with read_file. Its beginning and end:]`,
    headOf(text, length),
    `[… ${omitted} characters …]`,
    tailOf(text, length),
  ].join('\n');
}
