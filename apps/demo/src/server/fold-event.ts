import type { ContentBlock, ContextUsage, Message, Usage } from '@x/core';
import type {
  CompactionRecord,
  Entry,
  Fate,
  Notice,
  PageEvent,
  RunningCall,
  TimelinePoint,
  ToolRun,
  Transcript,
} from './transcript.js';

/**
 * The transcript after an event. Pure, and free of anything but types, since the server and the page both use it.
 * Events may come twice (a resumed stream): what has an id is entered once.
 */
export function foldEvent(transcript: Transcript, event: PageEvent): Transcript {
  switch (event.type) {
    case 'call.started':
      return { ...transcript, call: newCall(event.callId, event.at) };
    case 'message.added':
      return withMessage(transcript, event.message);
    case 'model.started':
      return withCall(
        { ...transcript, ...withPoint(transcript, event.at, event.context, 1) },
        { step: event.step, text: '', thinking: '', retry: undefined },
      );
    case 'text.delta':
      return withCall(transcript, { text: (transcript.call?.text ?? '') + event.text });
    case 'thinking.delta':
      return withCall(transcript, { thinking: (transcript.call?.thinking ?? '') + event.text });
    case 'draft.discarded':
      return withCall(transcript, { text: '', thinking: '' });
    case 'model.retrying':
      return withCall(transcript, { retry: { attempt: event.attempt, error: event.error } });
    case 'model.fallback':
      return withNotice(withCall(transcript, { retry: undefined }), event.at, 'warning', {
        code: 'model_fallback',
        message: `${event.from} failed (${event.error}); ${event.to} goes on.`,
      });
    case 'model.completed': {
      const { message, usage, durationMs } = event;
      const replies = { ...transcript.replies, [message.id]: { usage, durationMs } };
      const totals = message.id in transcript.replies ? transcript.totals : added(transcript.totals, usage);
      const written = withMessage({ ...transcript, replies, totals }, message);
      return withCall(written, { text: '', thinking: '', retry: undefined });
    }
    case 'tool.call':
      return withToolRun(transcript, event.call.id, { status: 'running' });
    case 'tool.progress':
      return withToolRun(transcript, event.toolUseId, { progress: textIn(event.output) });
    case 'tool.result':
      return withToolRun(transcript, event.result.toolUseId, {
        status: event.result.isError ? 'failed' : 'done',
        durationMs: event.durationMs,
      });
    case 'tool.evicted':
      return withToolRun(transcript, event.toolUseId, { evicted: { path: event.path, chars: event.chars } });
    case 'message.evicted':
      return withNotice(transcript, event.at, 'info', {
        code: 'message_evicted',
        message: `A message of ${event.chars} characters was written to ${event.path}; the model sees its beginning and end.`,
      });
    case 'context.compacting':
      return { ...transcript, compacting: { messagesBefore: event.messagesBefore } };
    case 'context.compacted':
      return withCompaction(transcript, event);
    case 'context.restored':
      return withoutCompaction(transcript, event);
    case 'usage.reported':
      return event.source === 'compaction' ? withCompactionUsage(transcript, event.usage) : transcript;
    case 'todos.changed':
      return { ...transcript, todos: event.todos };
    case 'work.changed':
      return { ...transcript, work: event.work };
    case 'permission.required':
      return { ...transcript, pending: event.calls };
    case 'permission.decided': {
      const pending = transcript.pending.filter(({ approvalId }) => approvalId !== event.call.approvalId);
      const code = `permission_${event.decision}_${event.call.id}`;
      return withNotice({ ...transcript, pending }, event.at, 'info', {
        code,
        message: decisionInWords(event),
      });
    }
    case 'warning':
      return withNotice(transcript, event.at, 'warning', { code: event.source, message: event.message });
    case 'call.completed': {
      const ended = endedCall(transcript);
      const message = endings[event.stopReason];
      if (message === undefined) return ended;
      return withNotice(ended, event.at, 'info', { code: event.stopReason, message });
    }
    case 'call.failed':
      return withNotice(endedCall(transcript), event.at, 'error', event.error);
    // Events that the page does not show.
    default:
      return transcript;
  }
}

/** Notices for calls that ended without an answer, by stop reason. */
const endings: Readonly<Record<string, string | undefined>> = {
  truncated: 'The answer was cut off at the limit of output tokens. Say “go on” to continue.',
  refused: 'The model declined to answer.',
  filtered: 'The provider withheld the answer.',
  timed_out: 'A limit of time ran out. What was done up to here is kept; say “go on” to continue.',
  interrupted: 'Stopped. What the agent had done up to here is kept.',
  max_iterations: 'The agent used up the steps that one call may take. Say “go on” to continue.',
  budget_exceeded: 'The call used up its budget. What was done up to here is kept.',
  shutdown:
    'The server shut down during this call. What was done up to here is kept; it goes on when the server starts again.',
};

type Decided = Extract<PageEvent, { readonly type: 'permission.decided' }>;

function decisionInWords({ call, decision, rule }: Decided): string {
  switch (decision) {
    case 'approved':
      return rule
        ? `You allowed ${call.name}, and calls like this one from now on.`
        : `You allowed ${call.name}.`;
    case 'edited':
      return `You allowed ${call.name} with another input.`;
    case 'denied':
      return `You denied ${call.name}; the model reads why.`;
    case 'expired':
      return `Nobody decided on ${call.name} in time; it was not run.`;
    case 'superseded':
      return `You went on without deciding on ${call.name}; it was not run.`;
  }
}

function newCall(callId: string, startedAt: string): RunningCall {
  return { callId, startedAt, step: 0, text: '', thinking: '' };
}

function withCall(transcript: Transcript, change: Partial<RunningCall>): Transcript {
  return transcript.call ? { ...transcript, call: { ...transcript.call, ...change } } : transcript;
}

function endedCall(transcript: Transcript): Transcript {
  // A tool that was running when the call ended was interrupted with it.
  const interrupted = Object.entries(transcript.toolRuns).filter(([, run]) => run.status === 'running');
  const closed = interrupted.map(([id, run]): [string, ToolRun] => [id, { ...run, status: 'failed' }]);
  const toolRuns =
    closed.length > 0 ? { ...transcript.toolRuns, ...Object.fromEntries(closed) } : transcript.toolRuns;
  return { ...transcript, toolRuns, call: undefined, compacting: undefined };
}

function withMessage(transcript: Transcript, message: Message): Transcript {
  // A summary is told by the compaction that wrote it.
  if (message.kind === 'summary' || holds(transcript, message.id)) return transcript;
  const entry: Entry = { type: 'message', id: message.id, message };
  const title =
    transcript.title || (message.role === 'user' && message.kind === undefined ? said(message) : '');
  return { ...transcript, title, entries: [...transcript.entries, entry] };
}

function said(message: Message): string {
  return textIn(message.content).replace(/\s+/g, ' ').trim().slice(0, 120);
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
  at: string,
  level: Notice['level'],
  words: Pick<Notice, 'code' | 'message'>,
): Transcript {
  const notice = { level, at, ...words };
  const id = `notice-${at}-${words.code}`;
  if (holds(transcript, id)) return transcript;
  return { ...transcript, entries: [...transcript.entries, { type: 'notice', id, notice }] };
}

function added(totals: Transcript['totals'], usage: Usage | undefined): Transcript['totals'] {
  const sum = (name: keyof Usage): number => (totals.usage[name] ?? 0) + (usage?.[name] ?? 0);
  return {
    modelCalls: totals.modelCalls + 1,
    usage: {
      inputTokens: sum('inputTokens'),
      outputTokens: sum('outputTokens'),
      cachedInputTokens: sum('cachedInputTokens'),
      cacheWriteTokens: sum('cacheWriteTokens'),
      reasoningTokens: sum('reasoningTokens'),
    },
  };
}

/** The transcript after a compaction, whatever its outcome. */
function withCompaction(
  transcript: Transcript,
  event: Extract<PageEvent, { readonly type: 'context.compacted' }>,
): Transcript {
  const { type: _, sessionId: __, context, ...figures } = event;
  const id = `compaction-${event.at}`;
  if (holds(transcript, id)) return transcript;
  const compaction: CompactionRecord = { ...figures, id, undone: false };
  const window = context ?? transcript.context;
  const applied = event.status === 'applied';
  const mark = { id, status: event.status, tokensBefore: event.tokensBefore };
  return {
    ...transcript,
    entries: [...transcript.entries, { type: 'compaction', id, compaction }],
    fates: applied ? { ...transcript.fates, ...fatesOf(compaction) } : transcript.fates,
    ...(window && withPoint(transcript, event.at, window, 0, mark)),
    compacting: undefined,
  };
}

/** A model wrote the summary of the last compaction. */
function withCompactionUsage(transcript: Transcript, usage: Usage): Transcript {
  const at = transcript.entries.findLastIndex(({ type }) => type === 'compaction');
  const entry = transcript.entries[at];
  if (entry?.type !== 'compaction' || entry.compaction.usage) return transcript;
  const entries = transcript.entries.with(at, { ...entry, compaction: { ...entry.compaction, usage } });
  return { ...transcript, entries, totals: added(transcript.totals, usage) };
}

/** The transcript after a compaction has been taken back. */
function withoutCompaction(
  transcript: Transcript,
  event: Extract<PageEvent, { readonly type: 'context.restored' }>,
): Transcript {
  const entries = transcript.entries.map((entry) =>
    entry.type === 'compaction' && entry.id === event.compactionId
      ? { ...entry, compaction: { ...entry.compaction, undone: true } }
      : entry,
  );
  const standing = entries.flatMap((entry) =>
    entry.type === 'compaction' && entry.compaction.status === 'applied' && !entry.compaction.undone
      ? [fatesOf(entry.compaction)]
      : [],
  );
  const context = event.context ?? transcript.context;
  const point = context && withPoint(transcript, event.at, context, 0);
  return { ...transcript, entries, fates: Object.assign({}, ...standing), ...point };
}

function fatesOf(compaction: CompactionRecord): Record<string, Fate> {
  return Object.fromEntries(
    compaction.manifest.map(({ messageId, fate }) => [messageId, { fate, compactionId: compaction.id }]),
  );
}

/** Tells whether an entry is there already. Repeated entries are recent, so the search begins at the end. */
function holds(transcript: Transcript, id: string): boolean {
  return transcript.entries.findLastIndex((entry) => entry.id === id) >= 0;
}

/** The window as it is now, and the time line with that point: a request, or what a compaction left. */
function withPoint(
  { timeline }: Transcript,
  at: string,
  context: ContextUsage,
  requests: 0 | 1,
  compaction?: TimelinePoint['compaction'],
): Pick<Transcript, 'context' | 'timeline'> {
  const step = (timeline.at(-1)?.step ?? 0) + requests;
  return { context, timeline: [...timeline, { at, context, step, compaction }] };
}
