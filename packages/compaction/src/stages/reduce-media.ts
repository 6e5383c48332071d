import type { ContentBlock, FileBlock, Message, TextBlock } from '@x/core';
import { blockBytes, messageBytes } from '@x/core/messages';
import { marksOf, stringsIn, withMarks } from '../conversation/marks.js';
import {
  firstUserRequest,
  isUserRequest,
  latestUserRequest,
  startOfUnseen,
} from '../conversation/regions.js';
import { type Fate, isHeavy, isTooLong, type Stage, unchanged } from '../stage.js';
import { mediaReference, placesIn } from './stubs.js';

/** The share of the byte trigger that may remain after a reduction. */
const LEFT = 0.5;
/** The minimum saving, as a share of the token trigger. Smaller savings are not worth the loss of the prompt cache. */
const SAVED = 0.25;

/**
 * Replaces encoded files with references, the oldest first. Keeps files of the latest request and of unseen results. Runs before all other
 * stages. If a request has too many bytes, it leaves at most half of the byte trigger, and replaces files of the first request last. If it
 * has too many tokens, it aims for the target, and does not replace a user's files, because a summary would keep them. It does so only
 * if this saves much, and if no other stage is needed afterwards.
 */
export const reduceMedia: Stage = {
  name: 'reduce_media',
  cost: 'free',
  async reduce(view, target, context) {
    const { messages } = view;
    const end = startOfUnseen(messages);
    const [first, latest] = [firstUserRequest(messages), latestUserRequest(messages)];
    const order = messages
      .slice(0, end)
      .flatMap((_, index) => (index === first || index === latest ? [] : index));
    if (first !== latest && first >= 0 && first < end) order.push(first);
    const places = placesIn(messages, context);
    const reduceTo = (mostBytes: number, mostTokens: number, indexes: readonly number[]) => {
      const result = [...messages];
      const fates: Fate[] = [];
      let [bytes, tokens] = [messageBytes(messages), view.tokens];
      for (const index of indexes) {
        if (bytes <= mostBytes && tokens <= mostTokens) break;
        const message = messages[index] as Message;
        const reduced = withoutFiles(message, places(message));
        if (reduced === message) continue;
        bytes += messageBytes([reduced]) - messageBytes([message]);
        tokens += context.meter.messages([reduced]) - context.meter.messages([message]);
        result[index] = reduced;
        fates.push({ messageId: message.id, fate: 'truncated' });
      }
      return { messages: result, fates, bytes, tokens };
    };
    const isTooHeavy = isHeavy(view, target);
    const mostBytes = isTooHeavy ? target.dueBytes * LEFT : Infinity;
    if (isTooLong(view, target, context.isAhead)) {
      const others = order.filter((index) => !isUserRequest(messages[index] as Message));
      const { bytes, tokens, ...reduction } = reduceTo(mostBytes, target.targetTokens, others);
      const isWorthwhile = view.tokens - tokens >= target.dueTokens * SAVED;
      if (isWorthwhile && bytes <= mostBytes && tokens <= target.enoughTokens) return reduction;
    }
    if (!isTooHeavy) return unchanged(view, 'replacing the files of tools would not make enough room');
    const { messages: result, fates } = reduceTo(mostBytes, Infinity, order);
    return fates.length > 0 ? { messages: result, fates } : unchanged(view, 'no file may be replaced');
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
