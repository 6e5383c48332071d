import type { ContentBlock, TextBlock, ToolOutputBlock } from './content-block.js';
import { describeFile } from './media.js';
import type { Message } from './message.js';

/** Texts with more than this many UTF-16 units may be the reason why a provider rejected a request. */
const OVERSIZED = 100_000;

/** The metadata key of a message with content that was set aside. */
const MARK = 'setAside';

/** How much of a message is set aside: its files and large texts, or all its content. */
export type SetAsideExtent = 'large' | 'all';

/**
 * Replaces content that a provider rejected by lines that describe it. The message keeps its id and role, and calls keep their results. The
 * log of the session keeps the replaced content. Returns the same message if there is nothing to replace.
 *
 * @param extent `large`: files, and texts of more than 100 000 characters. `all`: everything, including inputs of calls.
 */
export function setAside(message: Message, extent: SetAsideExtent): Message {
  if (extent === 'all' && message.metadata?.[MARK] === 'all') return message;
  const isTaken = (block: ContentBlock) =>
    extent === 'all' || block.type === 'file' || (block.type === 'text' && block.text.length > OVERSIZED);
  const parts = message.content.flatMap((block): readonly ContentBlock[] =>
    block.type === 'tool_result' ? block.output : [block],
  );
  if (!parts.some(isTaken)) return message;
  const content = message.content.flatMap((block): ContentBlock[] => {
    if (block.type === 'tool_result') {
      const taken = block.output.filter(isTaken);
      if (taken.length === 0 && extent !== 'all') return [block];
      const output: ToolOutputBlock[] = [...block.output.filter((part) => !isTaken(part)), lineOf(taken)];
      const { type, toolUseId, toolName, isError } = block;
      return [{ type, toolUseId, toolName, output, isError }];
    }
    if (block.type === 'tool_use' && isTaken(block))
      return [{ type: 'tool_use', id: block.id, name: block.name, input: {} }];
    return isTaken(block) ? [] : [block];
  });
  const own = message.content.filter(
    (block) => block.type !== 'tool_use' && block.type !== 'tool_result' && isTaken(block),
  );
  return {
    ...message,
    content: own.length === 0 ? content : [lineOf(own), ...content],
    metadata: { ...message.metadata, [MARK]: extent },
  };
}

/** Describes the content of a message in a few words. */
export function describeContent(blocks: readonly ContentBlock[]): string {
  const named = blocks.flatMap((block): readonly string[] => {
    if (block.type === 'tool_result') return [`the result of ${block.toolName}`];
    if (block.type === 'tool_use') return [`a call of ${block.name}`];
    if (block.type === 'file') return [describeFile(block)];
    return block.type === 'text' ? [`a text of ${block.text.length} characters`] : [];
  });
  return named.join(', ') || 'no text';
}

function lineOf(blocks: readonly ContentBlock[]): TextBlock {
  const what = describeContent(blocks);
  const text = `[Set aside, because the provider refused a request with it: ${what}. The log of the session keeps it.]`;
  return { type: 'text', text };
}
