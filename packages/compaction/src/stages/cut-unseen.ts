import {
  type ContentBlock,
  type Message,
  type ToolOutputBlock,
  type ToolResultBlock,
  textOf,
  toolResultsOf,
} from '@x/core';
import { inPieces, type Work } from '@x/core/internal';
import { countBlock } from '@x/core/messages';
import { countedText, oddBetween, oddLinesWork } from '../conversation/lines.js';
import { marksOf, stringsIn, withMarks } from '../conversation/marks.js';
import { latestUserRequest, startOfUnseen } from '../conversation/regions.js';
import { STUB_TEXTS } from '../conversation/stub-texts.js';
import { cutToTokens } from '../conversation/text.js';
import { evictedBlock, evictedPath } from '../eviction/evict-text.js';
import type { Meter } from '../meter.js';
import { type Fate, type Stage, unchanged, type View } from '../stage.js';
import { mediaReference, placesIn } from './stubs.js';

/** The share of the room for messages that is reserved for the user's requests and a useful record. */
const REST_SHARE = 0.35;
/** Minimum tokens that a cut result keeps. */
const SHORTEST = 160;

/**
 * Cuts the largest results that no model has seen if these results alone would fill the window. Each cut result keeps its head and its
 * tail, and says between them how much is missing, why, and where it can be read. Results that fit an equal share of the room stay
 * unchanged. The limit is computed for all results of a step together.
 */
export function cutUnseen(): Stage {
  return {
    name: 'cut_unseen',
    cost: 'free',
    async reduce(view, budget, context) {
      const { meter } = context;
      const cap = capOfUnseen(view, budget.mostTokens, meter);
      if (cap === undefined) return unchanged(view, 'the results that no model has seen fit');
      const fates: Fate[] = [];
      const start = startOfUnseen(view.messages);
      const places = placesIn(view.messages, context);
      const messages = view.messages.slice(0, start + 1);
      for (const message of view.messages.slice(start + 1)) {
        const where = places(message);
        const elsewhere = {
          words: where ? `full text: ${where}` : 'ask for a part of it, or for something narrower',
        };
        const work = cutMessage(message, cap, meter, (block) => fileOf(evictedPath(block)) ?? elsewhere);
        const cut = await inPieces(work, context.signal);
        if (cut !== message) fates.push({ messageId: message.id, fate: 'truncated' });
        messages.push(cut);
      }
      return fates.length > 0 ? { messages, fates } : unchanged(view, 'no result can be cut any further');
    },
  };
}

/** Counts the tokens that cannot be condensed: system prompt and tools, system messages, the latest request, all unseen messages. */
export function stayingTokens({ messages, fixedTokens }: View, meter: Meter): number {
  const unseen = startOfUnseen(messages);
  const latest = latestUserRequest(messages);
  return (
    fixedTokens +
    meter.messages(
      messages.filter(({ role }, index) => index >= unseen || index === latest || role === 'system'),
    )
  );
}

/** Finds how many tokens each unseen result may have so that all fit. */
function capOfUnseen(view: View, mostTokens: number, meter: Meter): number | undefined {
  const sizes = view.messages
    .slice(startOfUnseen(view.messages))
    .flatMap((message) => toolResultsOf(message).map((block) => tokensOf(block, meter)));
  return fairShare(sizes, stayingTokens(view, meter), view.tokens, mostTokens);
}

/**
 * Finds how many tokens each of several new texts may have so that all fit. Texts below this limit stay unchanged, so only the largest are
 * cut.
 *
 * @param staying Tokens of everything that cannot be condensed, including the texts.
 * @param tokens Tokens of the whole request.
 * @returns `undefined` if all fit unchanged.
 */
export function fairShare(
  sizes: readonly number[],
  staying: number,
  tokens: number,
  mostTokens: number,
): number | undefined {
  const room = mostTokens - Math.min(tokens - staying, mostTokens * REST_SHARE);
  if (staying <= room) return undefined;
  const sorted = sizes.toSorted((one, other) => one - other);
  let left = room - staying + sorted.reduce((sum, size) => sum + size, 0);
  for (const [index, size] of sorted.entries()) {
    const share = left / (sorted.length - index);
    if (size > share) return Math.max(SHORTEST, Math.floor(share));
    left -= size;
  }
  return undefined;
}

/** The place of a result's full text. */
interface Place {
  /** A description of the place, for the model. */
  readonly words: string;
  /** The path in the workspace, if the place is a file. */
  readonly path?: string;
}

/** Cuts the results of a message that have more than `cap` tokens. Keeps results whose full text has no known place. */
export function* cutMessage(
  message: Message,
  cap: number,
  meter: Meter,
  placeOf: (block: ToolResultBlock) => Place | undefined,
): Work<Message> {
  const cut: string[] = [];
  const content: ContentBlock[] = [];
  for (const block of message.content) {
    content.push(block);
    if (block.type !== 'tool_result' || tokensOf(block, meter) <= cap) continue;
    const place = placeOf(block);
    if (!place) continue;
    const shorter = { ...block, output: yield* cutOutput(block, cap, meter, place) };
    if (tokensOf(shorter, meter) >= tokensOf(block, meter)) continue;
    cut.push(block.toolUseId);
    content[content.length - 1] = shorter;
  }
  if (cut.length === 0) return message;
  return withMarks({ ...message, content }, { cut: [...stringsIn(marksOf(message).cut), ...cut] });
}

function* cutOutput(
  block: ToolResultBlock,
  cap: number,
  meter: Meter,
  place: Place,
): Work<readonly ToolOutputBlock[]> {
  const text = textOf(block.output);
  let room = cap;
  const files = block.output.flatMap((part): readonly ToolOutputBlock[] => {
    if (part.type !== 'file') return [];
    const tokens = tokensOf(part, meter);
    const stays = tokens <= (text === '' ? room : room - cap / 2);
    if (stays) room -= tokens;
    return [stays ? part : { type: 'text', text: mediaReference(part, place.words) }];
  });
  if (text === '') return files;
  const shortened = yield* cutText(text, room, meter, place.words);
  return [evictedBlock(shortened, place.path, block), ...files];
}

/**
 * Cuts a text to its head and tail, in at most `room` tokens. Between them, adds a note about the missing part, and its odd lines up to a
 * quarter of the room. Repeated lines are collapsed into counts first.
 */
function* cutText(text: string, room: number, meter: Meter, where: string): Work<string> {
  const short = yield* countedText(text);
  const repeated = short === text ? '' : 'lines that repeat are counted (×); ';
  const why = `together with the other new results they do not fit the context window; ${repeated}${where}`;
  const odd = yield* oddLinesWork(short);
  const note = (left: number, from: number) =>
    `\n${STUB_TEXTS.cut.write(left, short.length, why)}\n${oddBetween(odd, from, from + left, room)}`;
  const whole = `${short}\n${STUB_TEXTS.counted.write(text.length, `${repeated}${where}`)}`;
  if (repeated !== '' && meter.fits(whole, room)) return whole;
  // A text that begins like JSON would be parsed as JSON.
  const isData = /^\s*[{[]/.test(short.slice(0, 100));
  const head = isData ? `${PART}\n` : '';
  return head + cutToTokens(short, room - meter.text(head), meter, note, { tail: 0.5 });
}

/** The first words of a cut result that would otherwise begin like complete JSON. */
const PART = 'Parts of a result:';

/** Returns the place of a result's full text, if it is in a file. */
export function fileOf(path: string | undefined): Place | undefined {
  return path === undefined
    ? undefined
    : { words: `full text: ${path}, which read_file reads in parts`, path };
}

/** Counts the tokens of a result or of a part of it. */
export function tokensOf(block: ToolOutputBlock | ToolResultBlock, meter: Meter): number {
  return countBlock(meter.counter, block) * meter.ratio;
}
