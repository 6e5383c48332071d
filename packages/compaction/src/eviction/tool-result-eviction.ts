import { type Capability, type Message, parseWith, type ToolOutputBlock } from '@x/core';
import { describe } from '../describe.js';
import { matchesTool } from '../reducers/select-tools.js';
import { evictText } from './evict-text.js';
import { evictUserMessages } from './evict-user-messages.js';
import { type EvictionConfig, evictionConfigSchema } from './eviction-config.js';

const NAME = 'tool_result_eviction';

const UNREADABLE =
  'The agent has no tool read_file, to which evicted results point: it has only their beginning and end. Add ' +
  'workspaceTools() of @x/harness, or a read_file of your own.';

const TOO_LATE =
  'toolResultEviction() stands behind compaction(), which therefore counts long messages of the user before they are ' +
  'written to the workspace, and may reduce the conversation for nothing. Put it in front.';

/**
 * Writes the text of a large tool result to the workspace when the tool returns, before anything is counted, and leaves
 * its size, its head, its tail and a pointer for `read_file`; the same for a very long message of the user, before a
 * model call (the log keeps the message whole). Files and other blocks stay. When the write fails the text stays whole.
 * Use it in front of `compaction()`, so that it comes first.
 *
 * @throws {InvalidInputError} naming every bad key.
 */
export function toolResultEviction(config: EvictionConfig = {}): Capability {
  const settings = parseWith(evictionConfigSchema, config, 'toolResultEviction configuration');
  const { maxResultChars, maxUserChars, excludeTools } = settings;
  const settled = new WeakSet<Message>();
  let unreadable = false;
  let late = false;

  return {
    name: NAME,
    install({ tools, capabilities }) {
      unreadable = !tools.some(({ definition }) => definition.name === 'read_file');
      const names = capabilities.map(({ name }) => name);
      late = maxUserChars > 0 && names.slice(0, names.indexOf(NAME)).includes('compaction');
    },
    async aroundReason(scope, next) {
      if (late) {
        late = false;
        scope.emit({ type: 'warning', source: NAME, message: TOO_LATE });
      }
      if (maxUserChars > 0) await evictUserMessages(scope, settings, settled);
      return next();
    },
    async aroundTool(call, scope, next) {
      const result = await next(call);
      if (maxResultChars === 0 || matchesTool(excludeTools, call.name)) return result;
      const text = joinedText(result.output);
      if (text.length <= maxResultChars) return result;
      try {
        const { block, path } = await evictText(scope, settings, `The result of ${result.toolName}`, text);
        scope.emit({ type: 'tool.evicted', toolUseId: result.toolUseId, path, chars: text.length });
        if (unreadable) {
          unreadable = false;
          scope.emit({ type: 'warning', source: NAME, message: UNREADABLE });
        }
        return { ...result, output: [block, ...result.output.filter((part) => part.type !== 'text')] };
      } catch (error) {
        scope.emit({
          type: 'warning',
          source: NAME,
          message: `A result of ${call.name} (${text.length} characters) stays whole: ${describe(error)}`,
        });
        return result;
      }
    },
  };
}

function joinedText(output: readonly ToolOutputBlock[]): string {
  return output.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
}
