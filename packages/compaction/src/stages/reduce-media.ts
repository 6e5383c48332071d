import type { ContentBlock, FileBlock, Message, TextBlock } from '@x/core';
import { blockBytes, messageBytes } from '@x/core/messages';
import { marksOf, stringsIn, withMarks } from '../conversation/marks.js';
import { firstUserRequest, latestUserRequest, startOfUnseen } from '../conversation/regions.js';
import { type Fate, isHeavy, type Stage, unchanged } from '../stage.js';
import { mediaReference, placesIn } from './stubs.js';

/** The share of the byte trigger that may remain after a reduction. */
const LEFT = 0.5;

/**
 * Replaces encoded files with references, the oldest first. Keeps files of the latest request and of unseen results. Replaces those of
 * the first request last. Runs before all other stages: if a request has too many bytes, until at most half of the byte trigger is left,
 * and if it has too many tokens, provided that this alone makes it small enough.
 */
export const reduceMedia: Stage = {
  name: 'reduce_media',
  cost: 'free',
  async reduce(view, target, context) {
    const { messages } = view;
    const { meter, isAhead } = context;
    const isTooHeavy = isHeavy(view, target);
    const isTooLong = !target.forced && (isAhead || view.tokens > target.dueTokens);
    const mostTokens = isTooLong ? target.enoughTokens : Infinity;
    const mostBytes = isTooHeavy ? target.dueBytes * LEFT : Infinity;
    const end = startOfUnseen(messages);
    const [first, latest] = [firstUserRequest(messages), latestUserRequest(messages)];
    const order = messages
      .slice(0, end)
      .flatMap((_, index) => (index === first || index === latest ? [] : index));
    if (first !== latest && first >= 0 && first < end) order.push(first);
    const places = placesIn(messages, context);
    const result = [...messages];
    const fates: Fate[] = [];
    let [bytes, tokens] = [messageBytes(messages), view.tokens];
    for (const index of order) {
      if (bytes <= mostBytes && tokens <= mostTokens) break;
      const message = messages[index] as Message;
      const reduced = withoutFiles(message, places(message));
      if (reduced === message) continue;
      bytes += messageBytes([reduced]) - messageBytes([message]);
      tokens += meter.messages([reduced]) - meter.messages([message]);
      result[index] = reduced;
      fates.push({ messageId: message.id, fate: 'truncated' });
    }
    if (!isTooHeavy && tokens > mostTokens)
      return unchanged(view, 'without its files, the request is still too large');
    return fates.length > 0 ? { messages: result, fates } : unchanged(view, 'no file can go');
  },
};

const isEncoded = (block: ContentBlock): block is FileBlock => block.type === 'file' && blockBytes(block) > 0;

/** Replaces each encoded file of a message with a reference. Returns the same message if it has none. */
function withoutFiles(message: Message, where: string | undefined): Message {
  const cut: string[] = [];
  const reference = (file: FileBlock): TextBlock => ({ type: 'text', text: mediaReference(file, where) });
  const content = message.content.map((block): ContentBlock => {
    if (isEncoded(block)) return reference(block);
    if (block.type !== 'tool_result' || !block.output.some(isEncoded)) return block;
    cut.push(block.toolUseId);
    return { ...block, output: block.output.map((part) => (isEncoded(part) ? reference(part) : part)) };
  });
  if (content.every((block, index) => block === message.content[index])) return message;
  return withMarks({ ...message, content }, { cut: [...stringsIn(marksOf(message).cut), ...cut] });
}
