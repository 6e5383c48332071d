import {
  addUsage,
  type ClientError,
  type ContextUsage,
  type ManifestEntry,
  type Message,
  type MessageFate,
  type ToolResultBlock,
  toolUsesOf,
  type Usage,
} from '@x/core';
import { isPlace, renderCall, type Savings, savingsOf } from '@x/harness/view';
import { inOneLine, type PageEvent, textOf } from '../../../src/page.js';
import { plural } from '../lib/format.js';

type EventOf<Type extends PageEvent['type']> = Extract<PageEvent, { readonly type: Type }>;

/** Everything that the page shows of one session. {@link transcriptOf} derives it from the session's events. */
export interface Transcript {
  /** The first message of the user; empty before. */
  readonly title: string;
  readonly blocks: readonly Block[];
  /** Every message of the log by id. */
  readonly messages: ReadonlyMap<string, Message>;
  /** All compactions, whatever their outcome, oldest first. */
  readonly compactions: readonly Compaction[];
  /** The fates of the messages that compactions in effect have changed or removed, by message id. */
  readonly fates: ReadonlyMap<string, Fate>;
  /** The model call that wrote a message, by message id. */
  readonly replies: ReadonlyMap<string, Reply>;
  /** Tool runs by call id. */
  readonly toolRuns: ReadonlyMap<string, ToolRun>;
  /** Requests, compactions and undos with a known window, oldest first. */
  readonly places: readonly Place[];
  /** Sums over all model calls of the session. */
  readonly usage: Usage;
  readonly modelCalls: number;
  /** How many of them were for the memory. */
  readonly memoryCalls: number;
  readonly savings: Savings;
  /** The running call, if its process is alive. */
  readonly call?: RunningCall | undefined;
}

/** One displayed block: a message of the user, the agent's turn, a compaction, a notice. */
export type Block = { readonly id: string } & (
  | { readonly type: 'user'; readonly message: Message }
  | { readonly type: 'agent'; readonly messages: readonly Message[] }
  | { readonly type: 'compaction'; readonly compaction: Compaction }
  | { readonly type: 'notice'; readonly notice: Notice }
);

/** The fate of a message, as a word. */
export type FateWord = 'removed' | 'summarized' | 'shortened' | 'pinned';

export interface Fate {
  readonly word: FateWord;
  readonly compactionId: string;
}

/** A compaction, whatever its outcome. */
export interface Compaction extends EventOf<'context.compacted'> {
  readonly id: string;
  /** The number of its place, from 1; 0 if its window is unknown. */
  readonly place: number;
  readonly undone: boolean;
  /** A problem of the compaction, such as a text of the model that was not used; empty if there was none. */
  readonly warning: string;
  /** The number of the place of its undo; 0 if there is none. */
  readonly undoPlace: number;
}

/** A notice for the user between two messages. */
export interface Notice extends ClientError {
  readonly level: 'error' | 'warning' | 'info';
  /** How often it was given. Warnings that differ only in numbers are one notice, at its last place. */
  readonly count: number;
}

interface Reply {
  readonly usage?: Usage | undefined;
  readonly durationMs: number;
  /** The place of its request. */
  readonly place: number;
}

/** A tool call, from its start. */
export interface ToolRun {
  readonly durationMs?: number | undefined;
  readonly result?: ToolResultBlock | undefined;
  /** The id of the message with the result. */
  readonly messageId?: string | undefined;
  /** Why it has no result, although nothing failed: a person did not let it run, or stopped it. */
  readonly unmade?: 'not run' | 'stopped' | undefined;
  /** The file with the full result, if it was too large for the window. */
  readonly evicted?: { readonly path: string; readonly chars: number } | undefined;
}

/** A point on the window's time line: a request, or the end of a compaction or an undo. */
export interface Place {
  readonly context: ContextUsage;
  /** The number of the request, from 1. For a compaction or an undo, that of the preceding request. */
  readonly request: number;
  readonly compaction?: Compaction | undefined;
  /** Tokens before the compaction or undo. */
  readonly before?: number | undefined;
  /** The id of the message that the model wrote. */
  messageId?: string | undefined;
}

export interface RunningCall {
  /** The number of the request in the session, from 1; 0 before the first of the call. */
  readonly step: number;
  /** Set while a failed model call waits for its retry. */
  readonly retry?: { readonly attempt: number; readonly error: string } | undefined;
}

/** Any other fate shortens the message. */
const WORDS: Readonly<Partial<Record<MessageFate, FateWord>>> = {
  summarized: 'summarized',
  dropped: 'removed',
  pinned: 'pinned',
};

function wordFor({ fate }: ManifestEntry): FateWord {
  return WORDS[fate] ?? 'shortened';
}

/** Counts the fates of messages: `12 summarized, 3 shortened`. */
export function fatesInWords(manifest: readonly ManifestEntry[]): string {
  const counts = new Map<string, number>();
  for (const word of manifest.map(wordFor)) counts.set(word, (counts.get(word) ?? 0) + 1);
  const sorted = [...counts].sort(([, left], [, right]) => right - left);
  return sorted.map(([word, count]) => `${count} ${word}`).join(', ');
}

/** Returns whether a compaction is in effect: applied, and not undone. */
export function isStanding({ status, undone }: Compaction): boolean {
  return status === 'applied' && !undone;
}

/** Describes how many compactions are in effect, for one that is not. */
export function standingInWords({ compactions }: Pick<Transcript, 'compactions'>): string {
  const standing = compactions.filter(isStanding).length;
  if (standing === 0) return 'The model sees the whole conversation.';
  return `${plural(standing, 'earlier compaction')} still in effect.`;
}

/** Derives the transcript from the events of a session, oldest first. Streaming events of a finished step may be missing. */
export function transcriptOf(events: readonly PageEvent[]): Transcript {
  // Long because it has a case for each event.
  const blocks: Block[] = [];
  const messages = new Map<string, Message>();
  const replies = new Map<string, Reply>();
  const toolRuns = new Map<string, ToolRun>();
  const places: Place[] = [];
  const compactions: Compaction[] = [];
  /** The calls of the last step that have no successful result. */
  const open = new Set<string>();
  let total: Usage = { inputTokens: 0, outputTokens: 0 };
  let title = '';
  let warning = '';
  /** The last half of an answer whose stream was cut, until the model answers. */
  let cut = undefined as EventOf<'draft.discarded'> | undefined;
  let modelCalls = 0;
  let memoryCalls = 0;
  let call = undefined as RunningCall | undefined;

  const add = (message: Message) => {
    // A summary is shown by its compaction. A message of the model arrives in two events.
    if (message.kind === 'summary' || messages.has(message.id)) return;
    messages.set(message.id, message);
    const { id, role, content } = message;
    if (role === 'user') {
      blocks.push({ type: 'user', id, message });
      if (message.kind === undefined) title ||= inOneLine(textOf(message), 120);
    }
    const last = blocks.at(-1);
    if (role === 'assistant' && last?.type === 'agent')
      blocks[blocks.length - 1] = { ...last, messages: [...last.messages, message] };
    else if (role === 'assistant') blocks.push({ type: 'agent', id, messages: [message] });
    for (const block of content)
      if (block.type === 'tool_result')
        toolRuns.set(block.toolUseId, { ...toolRuns.get(block.toolUseId), result: block, messageId: id });
  };
  const run = (id: string, change: ToolRun) => toolRuns.set(id, { ...toolRuns.get(id), ...change });
  const spend = (usage: Usage | undefined) => {
    modelCalls++;
    if (usage) total = addUsage(total, usage);
  };
  const say = (event: PageEvent, level: Notice['level'], code: string, message: string) => {
    const key = level === 'warning' ? message.replace(/\d+/g, '') : `${event.at}-${blocks.length}`;
    const id = `notice-${code}-${key}`;
    const at = blocks.findIndex((block) => block.id === id);
    const [same] = at < 0 ? [] : blocks.splice(at, 1);
    const count = same?.type === 'notice' ? same.notice.count + 1 : 1;
    blocks.push({ type: 'notice', id, notice: { level, code, message, count } });
  };
  const change = (isIt: (compaction: Compaction) => boolean, with_: Partial<Compaction>) => {
    const at = compactions.findLastIndex(isIt);
    const found = compactions[at];
    if (found === undefined) return;
    const changed = { ...found, ...with_ };
    compactions[at] = changed;
    const block = blocks.findLastIndex(({ id }) => id === found.id);
    blocks[block] = { type: 'compaction', id: found.id, compaction: changed };
  };

  for (const event of events) {
    if (isPlace(event) && 'context' in event && event.context)
      places.push({
        context: event.context,
        request: (places.at(-1)?.request ?? 0) + (event.type === 'model.started' ? 1 : 0),
        before: 'tokensBefore' in event ? event.tokensBefore : undefined,
      });
    switch (event.type) {
      case 'call.started':
        call = { step: 0 };
        open.clear();
        break;
      case 'message.added':
        add(event.message);
        break;
      case 'model.started':
        call = { step: places.at(-1)?.request ?? event.step };
        break;
      case 'draft.discarded':
        if (event.text.trim() !== '') cut = event;
        break;
      case 'model.retrying':
        call = { step: call?.step ?? 0, retry: { attempt: event.attempt, error: event.error.message } };
        break;
      case 'model.fallback':
        say(event, 'warning', 'model_fallback', `${event.from} failed. ${event.to} continues.`);
        break;
      case 'model.completed': {
        const { message, usage, durationMs } = event;
        const place = places.at(-1);
        cut = undefined;
        if (place) place.messageId = message.id;
        replies.set(message.id, { usage, durationMs, place: places.length });
        spend(usage);
        add(message);
        open.clear();
        for (const { id: use } of toolUsesOf(message)) open.add(use);
        break;
      }
      case 'tool.call':
        run(event.call.id, {});
        break;
      case 'tool.result':
        // A call that is stopped while it runs ends with an error.
        if (!event.result.isError) open.delete(event.result.toolUseId);
        run(event.result.toolUseId, { durationMs: event.durationMs });
        break;
      case 'tool.evicted':
        run(event.toolUseId, { evicted: { path: event.path, chars: event.chars } });
        break;
      case 'message.evicted':
        say(
          event,
          'info',
          event.type,
          `A message of ${event.chars} characters was moved to ${event.path}. The model sees its beginning and end.`,
        );
        break;
      case 'context.compacted': {
        const place = event.context ? places.length : 0;
        const id = `compaction-${compactions.length + 1}`;
        // An earlier summary that was merged into the new one is not a message of the log.
        const manifest = event.manifest.filter(({ fate }) => fate !== 'merged');
        const compaction = { ...event, id, place, manifest, warning, undone: false, undoPlace: 0 };
        warning = '';
        compactions.push(compaction);
        blocks.push({ type: 'compaction', id: compaction.id, compaction });
        break;
      }
      case 'context.restored':
        change(isStanding, { undone: true, undoPlace: event.context ? places.length : 0 });
        break;
      case 'usage.reported':
        spend(event.usage);
        if (event.source === 'memory') memoryCalls++;
        break;
      case 'memory.failed':
        say(event, 'warning', event.error.code, event.error.message);
        break;
      case 'context.narrated':
        // A late narrative: the next compaction adds it to the summary.
        say(event, 'info', event.type, 'The model’s text for the last summary arrived later.');
        break;
      case 'permission.decided':
        open.delete(event.call.id);
        run(event.call.id, {
          unmade: ['approved', 'edited'].includes(event.decision) ? undefined : 'not run',
        });
        say(event, 'info', `permission_${event.decision}_${event.call.id}`, decisionInWords(event));
        break;
      case 'warning':
        if (event.source === 'compaction') warning = event.message;
        say(event, 'warning', event.source, event.message);
        break;
      case 'call.completed': {
        call = undefined;
        if (event.stopReason === 'interrupted') for (const id of open) run(id, { unmade: 'stopped' });
        const ending = endings[event.stopReason];
        if (ending !== undefined) say(event, 'info', event.stopReason, ending);
        break;
      }
      case 'call.failed':
        call = undefined;
        if (cut) {
          const content = [{ type: 'text', text: cut.text }] as const;
          add({ id: `cut-${cut.messageId}`, role: 'assistant', content, createdAt: cut.at });
          say(event, 'info', 'cut_off', 'The answer was cut off: the model does not see this beginning.');
        }
        cut = undefined;
        say(event, 'error', event.error.code, event.error.message);
        break;
    }
  }
  const fates = new Map<string, Fate>();
  for (const { id: compactionId, manifest } of compactions.filter(isStanding))
    for (const entry of manifest) fates.set(entry.messageId, { word: wordFor(entry), compactionId });
  const byPlace = new Map(compactions.map((compaction) => [compaction.place, compaction]));
  return {
    title,
    blocks,
    messages,
    compactions,
    fates,
    replies,
    toolRuns,
    places: places.map((place, index) => ({ ...place, compaction: byPlace.get(index + 1) })),
    usage: total,
    modelCalls,
    memoryCalls,
    savings: savingsOf(events),
    call,
  };
}

/** Notices for calls that ended without an answer, by stop reason. */
export const endings: Readonly<Record<string, string | undefined>> = {
  truncated: 'The answer was cut off at the limit of output tokens. Say “go on” to continue.',
  refused: 'The model declined to answer.',
  filtered: 'The provider withheld the answer.',
  timed_out: 'A time limit ran out. Everything up to here is kept. Say “go on” to continue.',
  interrupted: 'Stopped. Everything up to here is kept. Say “go on” to continue.',
  max_iterations: 'The agent used up the steps of one call. Say “go on” to continue.',
  budget_exceeded: 'The call used up its budget. Everything up to here is kept.',
  shutdown: 'The server shut down during this call. It continues when the server starts again.',
};

/** Describes the decision on a call. */
export function decisionInWords({ call, decision, rule }: EventOf<'permission.decided'>): string {
  const { wants } = renderCall(call);
  return {
    approved: `You allowed it to ${wants}${rule ? ', and calls like this one from now on' : ''}.`,
    edited: `You changed the input, and allowed it to ${wants}.`,
    denied: `You did not allow it to ${wants}.`,
    expired: `Nobody decided in time whether it may ${wants}, so it did not.`,
    superseded: `You sent a message instead of deciding whether it may ${wants}, so it did not.`,
  }[decision];
}
