import { isContextOverflow, type Message } from '@x/core';
import { describeContent, errorText, isRefused } from '@x/core/internal';
import { modelErrorFacts, type SetAsideExtent, setAside } from '@x/core/messages';
import type { RunningCall } from './running-call.js';

/** Contents that a warning names. */
const MOST_NAMED = 5;

/** The place of a message in the conversation. */
interface Place {
  /** No answer stands behind it, so that nobody knows whether a provider takes it. The last answer is one itself. */
  readonly isNew: boolean;
  readonly isLastAnswer: boolean;
  /** A call that failed has left it behind. */
  readonly isLeft: boolean;
  /** Messages of earlier calls behind it; negative for one of this call. */
  readonly age: number;
}

/** How much of a message at a place is set aside. */
type Level = (place: Place) => SetAsideExtent | undefined;

const partsOfNew: Level = ({ isNew }) => (isNew ? 'large' : undefined);
const left: Level = ({ isLeft, isLastAnswer }) => (isLeft && !isLastAnswer ? 'all' : undefined);
const leftAndAnswer: Level = ({ isLeft }) => (isLeft ? 'all' : undefined);

/** The newest messages of earlier calls, so many of them: what was imported may never have been taken. */
const newest =
  (count: number): Level =>
  ({ age }) =>
    age >= 0 && age < count ? 'all' : 'large';

/** From the least to the most. Each is asked for once, and only where it changes something. */
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

/** For a request that is too large, which is the business of compaction, and for a server that fails: what a failed call has left. */
const LEVELS_OF_LEFT: readonly Level[] = [left, leftAndAnswer];
/** For a request with too many bytes, which are in files as a rule. */
const LEVELS_OF_WEIGHT: readonly Level[] = [...LEVELS_OF_LEFT, partsOfNew, newest(0)];

/** Statuses with which servers refuse content that they fail at, or that a gateway forbids: also those of an outage and a wrong key. */
const UNCLEAR_STATUSES: readonly number[] = [403, 500];

/** What may be set aside after an error. Without a model that could take over, an unclear refusal counts as well. */
function levelsFor(error: unknown, isLastModel: boolean): readonly Level[] {
  const { statuses } = modelErrorFacts(error);
  if (isContextOverflow(error)) return statuses.includes(413) ? LEVELS_OF_WEIGHT : LEVELS_OF_LEFT;
  if (isRefused(error)) return LEVELS;
  return isLastModel && statuses.some((each) => UNCLEAR_STATUSES.includes(each)) ? LEVELS_OF_LEFT : [];
}

/**
 * Sets aside what may be the reason for a refused request: first what is new since the last answer, then what a failed call left
 * behind. A message costs its turn at most, never the next one. The log has every message whole.
 */
export class RefusedContent {
  readonly #call: RunningCall;
  readonly #changed = new Map<string, { readonly before: Message; readonly after: Message }>();
  #level = 0;
  #reason = '';

  constructor(call: RunningCall) {
    this.#call = call;
  }

  /** Changes the conversation for another attempt. Returns whether there is one. */
  setAside(error: unknown): boolean {
    const { modelFailure, scope, isLastModel } = this.#call;
    if (error !== modelFailure || scope.signal.aborted) return false;
    this.#reason ||= errorText(error);
    const levels = levelsFor(error, isLastModel);
    for (let level = levels[this.#level++]; level !== undefined; level = levels[this.#level++]) {
      if (this.#apply(level)) return true;
    }
    return false;
  }

  #apply(level: Level): boolean {
    const context = this.#call.scope.state.contextMutable();
    const own = new Set(this.#call.messages.map(({ id }) => id));
    const answered = context.findLastIndex(({ role }) => role === 'assistant');
    // A call that continues with an earlier one has nothing else to say.
    const speaks = this.#call.messages.some(({ role, kind }) => role === 'user' && kind === undefined);
    const hasFailed = speaks && context.slice(answered + 1).some(({ id }) => !own.has(id));
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
        isLeft: hasFailed && index >= answered && !isOwn,
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

  /** Puts everything back, as no attempt has succeeded. */
  restore(): void {
    this.#replace((message) => this.#changed.get(message.id)?.before ?? message);
    this.#changed.clear();
  }

  /** Leaves out for good what was set aside when a request succeeded. */
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
    const message = `${id} refused a request, and took it without ${named}, which is set aside: ${this.#reason}`;
    this.#call.emit({ type: 'warning', source: id, message });
  }

  #replace(change: (message: Message) => Message): void {
    const context = this.#call.scope.state.contextMutable();
    for (const [index, message] of context.entries()) context[index] = change(message);
  }
}

/** The blocks that a message has lost. */
export function setAsideOf(before: Message, after: Message): Message['content'] {
  return before.content.filter((block) => !after.content.includes(block));
}
