import {
  type Capability,
  type Message,
  parseWith,
  type ReasonScope,
  type ToolOutputBlock,
  textOf,
} from '@x/core';
import { describe } from '../conversation/text.js';
import { matchesTool } from '../reducers/select-tools.js';
import { evictText } from './evict-text.js';
import { type EvictionConfig, evictionConfigSchema, type ResolvedEvictionConfig } from './eviction-config.js';

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

/**
 * Replaces, in the conversation, user messages whose text is too long, once the log has them whole. A message that
 * cannot be logged or written stays whole.
 *
 * @param settled Messages that need no second look; grows.
 */
async function evictUserMessages(
  scope: ReasonScope,
  settings: ResolvedEvictionConfig,
  settled: WeakSet<Message>,
): Promise<void> {
  for (const message of [...scope.state.context]) {
    if (settled.has(message)) continue;
    settled.add(message);
    if (message.role !== 'user' || message.kind !== undefined) continue;
    const { content } = message;
    const text = textOf(content.filter((block) => block.type === 'text'));
    if (text.length <= settings.maxUserChars) continue;
    try {
      await scope.log.append([message]);
      const { block, path } = await evictText(scope, settings, 'This message of the user', text);
      const evicted = { ...message, content: [block, ...content.filter((other) => other.type !== 'text')] };
      // Others may have rewritten the conversation meanwhile.
      const context = scope.state.contextMutable();
      const index = context.indexOf(message);
      if (index < 0) continue;
      context[index] = evicted;
      settled.add(evicted);
      scope.emit({ type: 'message.evicted', messageId: message.id, path, chars: text.length });
    } catch (error) {
      scope.emit({
        type: 'warning',
        source: 'tool_result_eviction',
        message: `A message of the user (${text.length} characters) stays whole: ${describe(error)}`,
      });
    }
  }
}
