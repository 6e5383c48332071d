import { type FinishReason, isContextOverflow, type Message } from '@x/core';
import { describeContent, errorText, isRefused } from '@x/core/internal';
import { classifyModelError, modelErrorFacts, type SetAsideExtent, setAside } from '@x/core/messages';
import type { RunningCall } from './running-call.js';

/** Maximum number of items that a warning names. */
const MOST_NAMED = 5;

/** The position of a message in the conversation. */
interface Place {
  /** Whether no answer follows it, so it is unknown whether the provider accepts it. The last answer itself counts as new. */
  readonly isNew: boolean;
  readonly isLastAnswer: boolean;
  /** Whether it was added by an earlier call that failed. */
  readonly isLeft: boolean;
  /** Number of messages of earlier calls after it; negative for a message of this call. */
  readonly age: number;
}

/** Returns how much of a message is set aside, depending on its position. */
type Level = (place: Place) => SetAsideExtent | undefined;

const partsOfNew: Level = ({ isNew }) => (isNew ? 'large' : undefined);
const left: Level = ({ isLeft, isLastAnswer }) => (isLeft && !isLastAnswer ? 'all' : undefined);
const leftAndAnswer: Level = ({ isLeft }) => (isLeft ? 'all' : undefined);

/** Sets aside the newest `count` messages of earlier calls, because no provider may ever have accepted an imported message. */
const newest =
  (count: number): Level =>
  ({ age }) =>
    age >= 0 && age < count ? 'all' : 'large';

/** Levels in ascending order. Each is tried once, and only if it changes something. */
const LEVELS: readonly Level[] = [
  partsOfNew,
  (place) => left(place) ?? partsOfNew(place),
  (place) => leftAndAnswer(place) ?? partsOfNew(place),
  ...[0, 1, 4, 16, 64, Number.POSITIVE_INFINITY].map(
    (count): Level =>
      (place) =>
        leftAndAnswer(place) ?? newest(count)(place),
  ),
];

/**
 * Levels for a request that is too large (compaction handles the rest) and for server failures. They set aside only messages that a failed
 * call added.
 */
const LEVELS_OF_LEFT: readonly Level[] = [left, leftAndAnswer];
/** Levels for a request with too many bytes, most of which are usually in files. */
const LEVELS_OF_WEIGHT: readonly Level[] = [...LEVELS_OF_LEFT, partsOfNew, newest(0)];

/**
 * HTTP statuses that may mean rejected content: an error may quote the content and so look like another one, some servers fail on content,
 * and some gateways forbid it. The same statuses may also mean an outage, an exhausted account, or an invalid key or address.
 */
const UNCLEAR_STATUSES: readonly number[] = [400, 403, 404, 415, 422, 500];

/** Metadata key of the text that a model produced before its answer was withheld. */
export const WITHHELD_MARK = 'withheld';

/**
 * Returns whether the provider withheld an answer, or the rest of one. It would do so again while the rejected content is in the
 * conversation.
 */
export function isWithheld(reason: FinishReason | undefined): boolean {
  return reason === 'content-filter' || reason === 'refusal';
}

/** Returns what may be set aside after an error. An unclear refusal counts only if no other model can take over. */
function levelsFor(error: unknown, isLastModel: boolean): readonly Level[] {
  const { statuses } = modelErrorFacts(error);
  if (isContextOverflow(error)) return statuses.includes(413) ? LEVELS_OF_WEIGHT : LEVELS_OF_LEFT;
  if (isRefused(error)) return LEVELS;
  const isUnclear =
    classifyModelError(error) === 'other' || statuses.some((each) => UNCLEAR_STATUSES.includes(each));
  return isLastModel && isUnclear ? LEVELS_OF_LEFT : [];
}

/**
 * Sets aside content that may be the reason for a rejected request: first what is new since the last answer, then what a failed call added.
 * So a rejected message affects at most its own turn. The log keeps every message unchanged.
 */
export class RefusedContent {
  readonly #call: RunningCall;
  readonly #changed = new Map<string, { readonly before: Message; readonly after: Message }>();
  #level = 0;
  #reason = '';
  #hasRepeated = false;

  constructor(call: RunningCall) {
    this.#call = call;
  }

  /**
   * Changes the conversation for another attempt. After an unclear error, the first attempt changes nothing, so that an error that passes
   * costs no message. Returns whether an attempt is left.
   */
  setAside(error: unknown): boolean {
    const { modelFailure, scope, isLastModel } = this.#call;
    if (error !== modelFailure || scope.signal.aborted) return false;
    const level = this.#level;
    if (!this.#next(levelsFor(error, isLastModel), errorText(error))) return false;
    if (this.#hasRepeated || isContextOverflow(error) || isRefused(error)) return true;
    this.#hasRepeated = true;
    this.#level = level;
    this.restore();
    return true;
  }

  /** Sets aside what an earlier failed call added, because the answer was withheld. Returns whether an attempt is left. */
  setAsideLeft(reason: FinishReason): boolean {
    return this.#next(LEVELS_OF_LEFT, `the answer ended with ${reason}.`);
  }

  #next(levels: readonly Level[], reason: string): boolean {
    this.#reason ||= reason;
    for (let level = levels[this.#level++]; level !== undefined; level = levels[this.#level++]) {
      if (this.#apply(level)) return true;
    }
    return false;
  }

  #apply(level: Level): boolean {
    const context = this.#call.scope.state.contextMutable();
    const own = new Set(this.#call.messages.map(({ id }) => id));
    // Requests before a summary were answered, even if no answer is left.
    const answered = context.findLastIndex(
      ({ role, kind, metadata }) =>
        kind === 'summary' || (role === 'assistant' && !metadata?.[WITHHELD_MARK]),
    );
    // A call that continues an earlier one has no user message.
    const speaks = this.#call.messages.some(({ role, kind }) => role === 'user' && kind === undefined);
    // Capabilities add notes between calls, so a note does not show that a call failed.
    const isOthers = ({ id, kind }: Message) => kind === undefined && !own.has(id);
    const hasFailed = speaks && context.slice(answered + 1).some(isOthers);
    let older = context.filter(({ id }) => !own.has(id)).length;
    let isChanged = false;
    for (const [index, message] of context.entries()) {
      const isOwn = own.has(message.id);
      if (!isOwn) older--;
      if (message.kind === 'summary') continue;
      const before = this.#changed.get(message.id)?.before ?? message;
      const place = {
        isNew: index >= answered,
        isLastAnswer: index === answered,
        isLeft: hasFailed && index >= answered && isOthers(message),
        age: isOwn ? -1 : older,
      };
      const extent = level(place);
      const after = extent === undefined ? before : setAside(before, extent);
      if (after === before || JSON.stringify(after) === JSON.stringify(message)) continue;
      context[index] = after;
      this.#changed.set(message.id, { before, after });
      isChanged = true;
    }
    return isChanged;
  }

  /** Restores everything, because no attempt has succeeded. */
  restore(): void {
    const context = this.#call.scope.state.contextMutable();
    for (const [index, message] of context.entries())
      context[index] = this.#changed.get(message.id)?.before ?? message;
    this.#changed.clear();
  }

  /** Keeps the changes permanently after a request has succeeded. */
  keep(): void {
    const contents: string[] = [];
    for (const [messageId, { before, after }] of this.#changed) {
      const what = describeContent(setAsideOf(before, after));
      contents.push(what);
      this.#call.emit({ type: 'message.set_aside', messageId, what });
    }
    this.#changed.clear();
    if (contents.length === 0) return;
    const { id } = this.#call.scope.model;
    const named = [...contents.slice(0, MOST_NAMED), ...(contents.length > MOST_NAMED ? ['more'] : [])].join(
      ', ',
    );
    const message = `${id} rejected a request, but accepted it without ${named}, which is set aside: ${this.#reason}`;
    this.#call.emit({ type: 'warning', source: id, message });
  }
}

/** Returns the blocks that were removed from a message. */
export function setAsideOf(before: Message, after: Message): Message['content'] {
  return before.content.filter((block) => !after.content.includes(block));
}
