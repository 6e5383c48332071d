import type {
  ClientError,
  CompactionStatus,
  ContentBlock,
  ContextUsage,
  ManifestEntry,
  Message,
  Usage,
} from '@x/core';
import type { PageEvent, Sent, SessionState } from '../../../src/page.js';

type EventOf<Type extends PageEvent['type']> = Extract<PageEvent, { readonly type: Type }>;

/** Everything that the page shows of one session: {@link fold} makes it of the session's events. */
export interface Transcript extends SessionState {
  readonly sessionId: string;
  /** The first thing that the user said; empty before. */
  readonly title: string;
  /** Every message of the log, and what happened between them, in order. */
  readonly entries: readonly Entry[];
  /** By message id: what a compaction did to messages that the model no longer sees unchanged. */
  readonly fates: Readonly<Record<string, Fate>>;
  /** By message id: usage and duration of the model call that wrote it. */
  readonly replies: Readonly<
    Record<string, { readonly usage?: Usage | undefined; readonly durationMs: number }>
  >;
  /** By the id of the call. */
  readonly toolRuns: Readonly<Record<string, ToolRun>>;
  /** Tokens in the window by source; absent before the first model call. */
  readonly context?: ContextUsage | undefined;
  /** The window over time, oldest first. */
  readonly timeline: readonly TimelinePoint[];
  /** Sums over all model calls of the session. */
  readonly totals: { readonly modelCalls: number; readonly usage: Usage };
  /** The call that runs now. */
  readonly call?: RunningCall | undefined;
  /** The compaction that runs now. */
  readonly compacting?: { readonly messagesBefore: number } | undefined;
}

export type Entry =
  | { readonly type: 'message'; readonly id: string; readonly message: Message }
  | { readonly type: 'compaction'; readonly id: string; readonly compaction: Compaction }
  | { readonly type: 'notice'; readonly id: string; readonly notice: Notice };

export interface Fate {
  readonly fate: ManifestEntry['fate'];
  readonly compactionId: string;
}

/** One compaction, whatever its outcome. */
export interface Compaction extends EventOf<'context.compacted'> {
  readonly id: string;
  /** The tokens of the model that wrote the summary; absent when rules wrote it. */
  readonly usage?: Usage | undefined;
  readonly undone: boolean;
}

/** A sentence for the user between two messages. */
export interface Notice extends ClientError {
  readonly level: 'error' | 'warning' | 'info';
}

export interface ToolRun {
  readonly status: 'running' | 'done' | 'failed';
  readonly durationMs?: number | undefined;
  /** The last progress that a running tool reported. */
  readonly progress?: string | undefined;
  /** The file of the full result, when it was too large for the window. */
  readonly evicted?: { readonly path: string; readonly chars: number } | undefined;
}

/** A model call, or the end of a compaction, on the time line of the window. */
export interface TimelinePoint {
  readonly context: ContextUsage;
  /** The number of the request, from 1. Of a compaction or an undo, that of the request before it. */
  readonly step: number;
  readonly compaction?: { readonly status: CompactionStatus; readonly tokensBefore: number } | undefined;
}

export interface RunningCall {
  /** The model call within it, from 1; 0 before the first. */
  readonly step: number;
  /** The text that the model has streamed so far in this step. */
  readonly text: string;
  readonly thinking: string;
  /** Set while a failed model call waits to be made again. */
  readonly retry?: { readonly attempt: number; readonly error: string } | undefined;
}

/** A session in which nothing has happened yet. */
export function emptyTranscript(sessionId: string): Transcript {
  return {
    sessionId,
    title: '',
    entries: [],
    fates: {},
    replies: {},
    toolRuns: {},
    timeline: [],
    totals: { modelCalls: 0, usage: { inputTokens: 0, outputTokens: 0 } },
    running: false,
    todos: [],
    pending: [],
    plan: { active: false },
    tasks: [],
  };
}

/** The transcript after an item of the session's stream. A history begins it anew. */
export function fold(transcript: Transcript, sent: Sent): Transcript {
  if (sent.type === 'history') {
    const { sessionId, todos, plan, tasks } = transcript;
    return sent.events.reduce(foldEvent, { ...emptyTranscript(sessionId), todos, plan, tasks });
  }
  if (sent.type !== 'state') return foldEvent(transcript, sent);
  const now = { ...transcript, ...sent.state };
  // The process of a call that has no end may have died.
  return sent.state.running ? now : ended(now);
}

function foldEvent(transcript: Transcript, event: PageEvent): Transcript {
  // Long because it has a case for each event.
  switch (event.type) {
    case 'call.started':
      return { ...transcript, call: { step: 0, text: '', thinking: '' } };
    case 'message.added':
      return withMessage(transcript, event.message);
    case 'model.started':
      return withCall(withPoint(transcript, event.context, 1), { step: event.step, ...NO_DRAFT });
    case 'text.delta':
      return withCall(transcript, { text: (transcript.call?.text ?? '') + event.text });
    case 'thinking.delta':
      return withCall(transcript, { thinking: (transcript.call?.thinking ?? '') + event.text });
    case 'draft.discarded':
      return withCall(transcript, NO_DRAFT);
    case 'model.retrying':
      return withCall(transcript, { retry: { attempt: event.attempt, error: event.error.message } });
    case 'model.fallback':
      return withNotice(withCall(transcript, { retry: undefined }), event, 'warning', {
        code: 'model_fallback',
        message: `${event.from} failed. ${event.to} goes on.`,
      });
    case 'model.completed': {
      const { message, usage, durationMs } = event;
      const replies = { ...transcript.replies, [message.id]: { usage, durationMs } };
      const totals = sum(transcript.totals, usage);
      return withCall(withMessage({ ...transcript, replies, totals }, message), NO_DRAFT);
    }
    case 'tool.call':
      return withToolRun(transcript, event.call.id, { status: 'running' });
    case 'tool.progress':
      return withToolRun(transcript, event.toolUseId, { progress: textIn(event.output) });
    case 'tool.result': {
      const status = event.result.isError ? 'failed' : 'done';
      return withToolRun(transcript, event.result.toolUseId, { status, durationMs: event.durationMs });
    }
    case 'tool.evicted':
      return withToolRun(transcript, event.toolUseId, { evicted: { path: event.path, chars: event.chars } });
    case 'message.evicted':
      return withNotice(transcript, event, 'info', {
        code: 'message_evicted',
        message: `A message of ${event.chars} characters was moved to ${event.path}. The model sees its beginning and end.`,
      });
    case 'context.compacting':
      return { ...transcript, compacting: { messagesBefore: event.messagesBefore } };
    case 'context.compacted':
      return withCompaction(transcript, event);
    case 'context.restored':
      return withoutCompaction(transcript, event);
    case 'usage.reported':
      return event.source === 'compaction' ? withCompactionUsage(transcript, event.usage) : transcript;
    case 'permission.required':
      return { ...transcript, pending: event.calls };
    case 'permission.decided': {
      const pending = transcript.pending.filter(({ approvalId }) => approvalId !== event.call.approvalId);
      const code = `permission_${event.decision}_${event.call.id}`;
      return withNotice({ ...transcript, pending }, event, 'info', { code, message: decisionInWords(event) });
    }
    case 'warning':
      return withNotice(transcript, event, 'warning', { code: event.source, message: event.message });
    case 'call.completed': {
      const message = endings[event.stopReason];
      if (message === undefined) return ended(transcript);
      return withNotice(ended(transcript), event, 'info', { code: event.stopReason, message });
    }
    case 'call.failed':
      return withNotice(ended(transcript), event, 'error', event.error);
    default:
      return transcript;
  }
}

const NO_DRAFT = { text: '', thinking: '', retry: undefined };

/** Notices for calls that ended without an answer, by stop reason. */
const endings: Readonly<Record<string, string | undefined>> = {
  truncated: 'The answer was cut off at the limit of output tokens. Say “go on” to continue.',
  refused: 'The model declined to answer.',
  filtered: 'The provider withheld the answer.',
  timed_out: 'A time limit ran out. Everything up to here is kept. Say “go on” to continue.',
  interrupted: 'Stopped. Everything up to here is kept.',
  max_iterations: 'The agent used up the steps of one call. Say “go on” to continue.',
  budget_exceeded: 'The call used up its budget. Everything up to here is kept.',
  shutdown: 'The server shut down during this call. It continues when the server starts again.',
};

function decisionInWords({ call: { name }, decision, rule }: EventOf<'permission.decided'>): string {
  return {
    approved: `You allowed ${name}${rule ? ', and calls like this one from now on' : ''}.`,
    edited: `You allowed ${name} with another input.`,
    denied: `You denied ${name}. The model reads why.`,
    expired: `Nobody decided on ${name} in time. It did not run.`,
    superseded: `You went on without deciding on ${name}. It did not run.`,
  }[decision];
}

function withCall(transcript: Transcript, change: Partial<RunningCall>): Transcript {
  return transcript.call ? { ...transcript, call: { ...transcript.call, ...change } } : transcript;
}

function ended(transcript: Transcript): Transcript {
  // A tool that was running when the call ended was interrupted with it.
  const runs = Object.entries(transcript.toolRuns).map(([id, run]): [string, ToolRun] => [
    id,
    run.status === 'running' ? { ...run, status: 'failed' } : run,
  ]);
  return { ...transcript, toolRuns: Object.fromEntries(runs), call: undefined, compacting: undefined };
}

function withEntry(transcript: Transcript, entry: Entry): Transcript {
  return { ...transcript, entries: [...transcript.entries, entry] };
}

function withMessage(transcript: Transcript, message: Message): Transcript {
  // A summary is shown by its compaction. A message that the model wrote comes with two events.
  const isThere = transcript.entries.findLastIndex(({ id }) => id === message.id) >= 0;
  if (message.kind === 'summary' || isThere) return transcript;
  const said = message.role === 'user' && message.kind === undefined ? textIn(message.content) : '';
  const title = transcript.title || said.replace(/\s+/g, ' ').trim().slice(0, 120);
  return withEntry({ ...transcript, title }, { type: 'message', id: message.id, message });
}

function textIn(blocks: readonly ContentBlock[]): string {
  return blocks.map((block) => (block.type === 'text' ? block.text : '')).join(' ');
}

function withToolRun(transcript: Transcript, id: string, change: Partial<ToolRun>): Transcript {
  const run: ToolRun = { status: 'running', ...transcript.toolRuns[id], ...change };
  return { ...transcript, toolRuns: { ...transcript.toolRuns, [id]: run } };
}

function withNotice(
  transcript: Transcript,
  { at }: PageEvent,
  level: Notice['level'],
  words: ClientError,
): Transcript {
  const id = `notice-${at}-${words.code}`;
  return withEntry(transcript, { type: 'notice', id, notice: { level, ...words } });
}

function sum({ modelCalls, usage }: Transcript['totals'], more: Usage | undefined): Transcript['totals'] {
  const added = (name: keyof Usage): number => (usage[name] ?? 0) + (more?.[name] ?? 0);
  return {
    modelCalls: modelCalls + 1,
    usage: {
      inputTokens: added('inputTokens'),
      outputTokens: added('outputTokens'),
      cachedInputTokens: added('cachedInputTokens'),
      cacheWriteTokens: added('cacheWriteTokens'),
    },
  };
}

function withCompaction(transcript: Transcript, event: EventOf<'context.compacted'>): Transcript {
  const compaction: Compaction = { ...event, id: `compaction-${event.at}`, undone: false };
  const { id, status, tokensBefore } = compaction;
  const next = withEntry({ ...transcript, compacting: undefined }, { type: 'compaction', id, compaction });
  return withFates(withPoint(next, event.context, 0, { status, tokensBefore }));
}

/** Adds what a model took that wrote the summary of the last compaction. */
function withCompactionUsage(transcript: Transcript, usage: Usage): Transcript {
  const totals = sum(transcript.totals, usage);
  return changeCompaction({ ...transcript, totals }, ({ usage: known }) => !known, { usage });
}

/** Marks the last compaction that stands as undone. */
function withoutCompaction(transcript: Transcript, event: EventOf<'context.restored'>): Transcript {
  const next = changeCompaction(transcript, isStanding, { undone: true });
  return withFates(withPoint(next, event.context, 0));
}

/** Whether a compaction changed what the model sees, and was not undone. */
export function isStanding({ status, undone }: Compaction): boolean {
  return status === 'applied' && !undone;
}

function changeCompaction(
  transcript: Transcript,
  isIt: (compaction: Compaction) => boolean,
  change: Partial<Compaction>,
): Transcript {
  const at = transcript.entries.findLastIndex(
    (entry) => entry.type === 'compaction' && isIt(entry.compaction),
  );
  const entry = transcript.entries[at];
  if (entry?.type !== 'compaction') return transcript;
  const entries = transcript.entries.with(at, { ...entry, compaction: { ...entry.compaction, ...change } });
  return { ...transcript, entries };
}

function withFates(transcript: Transcript): Transcript {
  const fates = transcript.entries.flatMap((entry) =>
    entry.type === 'compaction' && isStanding(entry.compaction)
      ? entry.compaction.manifest.map(({ messageId, fate }) => [messageId, { fate, compactionId: entry.id }])
      : [],
  );
  return { ...transcript, fates: Object.fromEntries(fates) };
}

/** Sets the window as it is now, and adds it to the time line. */
function withPoint(
  transcript: Transcript,
  context: ContextUsage | undefined = transcript.context,
  requests: 0 | 1,
  compaction?: TimelinePoint['compaction'],
): Transcript {
  if (context === undefined) return transcript;
  const step = (transcript.timeline.at(-1)?.step ?? 0) + requests;
  return { ...transcript, context, timeline: [...transcript.timeline, { context, step, compaction }] };
}
