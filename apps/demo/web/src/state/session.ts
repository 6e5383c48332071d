import { batch, computed, signal } from '@preact/signals';
import type { ClientError } from '@x/core';
import type { Decision } from '@x/harness';
import type {
  BackendInfo,
  FileInfo,
  PageEvent,
  Sent,
  SessionState,
  SessionSummary,
} from '../../../src/page.js';
import { announce, announcement } from './announcer.js';
import { ApiError, api, sessionUrl } from './api.js';
import { isStanding, type Transcript, transcriptOf } from './transcript.js';

/** `new`: no message has been sent yet, and the server does not know the session. */
type Phase = 'new' | 'loading' | 'ready' | 'failed';

export const phase = signal<Phase>('new');
export const sessionId = signal(newSessionId());
export const connected = signal(true);
/** The error of the last request. */
export const problem = signal<ClientError | undefined>(undefined);
export const sending = signal(false);
/** Number of changes that this page has requested. */
export const changes = signal(0);
/** The text in the composer. */
export const draftText = signal('');

const nothing: SessionState = { running: false, todos: [], pending: [], queued: [] };
const noDraft = { text: '', thinking: '' };
export const state = signal(nothing);
const events = signal<readonly PageEvent[]>([]);
export const transcript = computed(() => transcriptOf(events.value));
/** The text that the model has streamed so far in this step. */
export const draft = signal(noDraft);
/** The last progress of each running tool, by call id. */
export const progress = signal<ReadonlyMap<string, string>>(new Map());
/** The running compaction. */
export const compacting = signal<{ readonly messagesBefore: number } | undefined>(undefined);

function of<Key extends keyof Transcript>(key: Key) {
  return computed(() => transcript.value[key]);
}
export const title = of('title');
export const blocks = of('blocks');
export const fates = of('fates');
export const places = of('places');
/** The running call. If the server does not run it, its process may have died. */
export const call = computed(() => (state.value.running ? transcript.value.call : undefined));
/** Tokens in the window by source; undefined before the first model call. */
export const context = computed(() => places.value.at(-1)?.context);
export const pending = computed(() => state.value.pending);
/** Messages that wait for the agent's next step. */
export const queued = computed(() =>
  state.value.queued.filter(({ id }) => !transcript.value.messages.has(id)),
);
/** The compactions in effect. */
const standing = computed(() => transcript.value.compactions.filter(isStanding));
export const lastApplied = computed(() => standing.value.at(-1));
/** Whether the agent is working, or about to. */
export const busy = computed(
  () => sending.value || call.value !== undefined || compacting.value !== undefined,
);

export const info = signal<BackendInfo | undefined>(undefined);
/** A description of the model. */
export const modelLine = computed(() => {
  const model = info.value?.model;
  return model ? `${model.id}${model.embedded ? ': rules, no LLM' : ''}` : '';
});
/** Tokens: from the last request, otherwise as configured. */
export const windowSize = computed(() => context.value?.contextWindow ?? info.value?.contextWindow ?? 0);

/** Retries until the server responds. */
export async function loadInfo(): Promise<void> {
  for (let delay = 500; info.peek() === undefined; delay = Math.min(delay * 2, 10_000)) {
    info.value = await api.info().catch(() => undefined);
    if (info.peek() === undefined) await new Promise((resolve) => setTimeout(resolve, delay));
  }
}

export const sessions = signal<readonly SessionSummary[]>([]);
export const sessionsFailed = signal(false);

/** The search words. */
export const searched = signal('');

export async function refreshSessions(): Promise<void> {
  const words = searched.peek();
  const found = await api.sessions(words).catch(() => undefined);
  // Ignores a late response to an earlier search.
  if (words !== searched.peek()) return;
  sessionsFailed.value = found === undefined;
  if (found) sessions.value = found;
}

/** Files that the agent has written, the newest first. */
export const files = signal<readonly FileInfo[]>([]);

export async function loadFiles(): Promise<void> {
  files.value = await api.files().catch(() => files.peek());
}

/** The ids of the pins, by pinned message. */
export const pins = signal<ReadonlyMap<string | undefined, string>>(new Map());

async function loadPins(): Promise<void> {
  const session = sessionId.peek();
  const receipt = await api.receipt(session).catch(() => undefined);
  if (receipt && session === sessionId.peek())
    pins.value = new Map(receipt.pins.map(({ id, messageId }) => [messageId, id]));
}

/** Shows an empty conversation. */
export function startSession(): void {
  begin('new', newSessionId());
}

/** Shows an existing session, and follows it. */
export function openSession(id: string): void {
  if (id === sessionId.peek() && phase.peek() !== 'failed') return;
  begin('loading', id);
  follow();
}

/** Sends a message. The first message creates the session. */
export function send(text: string): Promise<boolean> {
  const id = sessionId.peek();
  return attempt(async () => {
    await api.send(id, text);
    // No event reports that a message is queued.
    const loaded = call.peek() && (await api.state(id).catch(() => undefined));
    if (id !== sessionId.peek()) return;
    if (loaded) state.value = loaded;
    if (phase.peek() !== 'new') return;
    phase.value = 'loading';
    follow();
  });
}

export const removeSession = (id: string) => attempt(() => api.remove(id));
export const compact = (options: Parameters<typeof api.compact>[1]) =>
  attempt(() => api.compact(sessionId.peek(), options));
export const pin = (messageId: string) => attempt(() => api.pin(sessionId.peek(), messageId).then(loadPins));
export const unpin = (id: string) => attempt(() => api.unpin(sessionId.peek(), id).then(loadPins));
/**
 * Sends a stop, and puts queued texts back into the composer. If the server does not answer, the stop is sent again once it answers, unless
 * the user dismisses the problem.
 */
export async function stop(): Promise<void> {
  await attempt(async () => {
    const unsent = await api.stop(sessionId.peek());
    if (unsent) draftText.value = [...unsent, draftText.peek()].join('\n\n').trimEnd();
  });
  if (problem.peek()?.code === 'offline') problem.value = notStopped;
}
export const undo = () => attempt(() => api.undo(sessionId.peek()));
export const decide = (decision: Decision, ...approvals: readonly string[]) =>
  attempt(() => api.decide(sessionId.peek(), Object.fromEntries(approvals.map((id) => [id, decision]))));

const notStopped = {
  code: 'not_stopped',
  message: 'Stop was not delivered yet. The agent is still running.',
};

async function attempt(action: () => Promise<void>): Promise<boolean> {
  problem.value = undefined;
  sending.value = true;
  try {
    await action();
    // The server refused the stream, for example after a restart with another token, and now accepts requests.
    if (source === undefined && phase.peek() === 'ready') follow();
    return true;
  } catch (error) {
    report(error);
    return false;
  } finally {
    sending.value = false;
    changes.value++;
    void refreshSessions();
  }
}

function report(error: unknown): void {
  if (!(error instanceof ApiError)) throw error;
  problem.value = { code: error.code, message: error.message };
}

/** Switches to another session. Both signals change in one batch, because the URL depends on both. */
function begin(next: Phase, id: string): void {
  unfollow();
  batch(() => {
    phase.value = next;
    sessionId.value = id;
    events.value = [];
    state.value = nothing;
    draft.value = noDraft;
    compacting.value = undefined;
    problem.value = undefined;
    connected.value = true;
    announcement.value = '';
  });
}

/** Milliseconds without an event after which a connection counts as dead. The server sends one at least every 15 s. */
const SILENCE_MS = 40_000;
const RETRY_MS = 1_000;

let source: EventSource | undefined;
let timer: ReturnType<typeof setTimeout> | undefined;

function unfollow(): void {
  source?.close();
  source = undefined;
  clearTimeout(timer);
}

/**
 * Follows the session across lost connections and server restarts: each connection begins with the whole history. A hidden page
 * disconnects, because browsers allow only six connections to a server.
 */
function follow(): void {
  unfollow();
  if (document.visibilityState === 'hidden') return;
  const stream = new EventSource(`${sessionUrl(sessionId.peek())}/events`);
  source = stream;
  const deliver = batching(show);
  const alive = () => {
    connected.value = true;
    if (/^(?:offline|token_required)$/.test(problem.peek()?.code ?? '')) problem.value = undefined;
    if (problem.peek() === notStopped) void stop();
    clearTimeout(timer);
    timer = setTimeout(follow, SILENCE_MS);
  };
  stream.onmessage = ({ data }) => {
    alive();
    deliver(JSON.parse(data), () => stream === source);
  };
  stream.addEventListener('ping', alive);
  stream.onerror = () => {
    connected.value = false;
    // The browser reconnects automatically, unless the server refused.
    if (stream.readyState === EventSource.CLOSED) void askWhy(stream);
  };
}

async function askWhy(refused: EventSource): Promise<void> {
  try {
    await api.state(sessionId.peek());
  } catch (error) {
    if (refused !== source) return;
    if (!(error instanceof ApiError) || error.code !== 'offline') {
      report(error);
      // An open conversation stays readable after the server was restarted with another token.
      if (phase.peek() !== 'ready' || problem.peek()?.code !== 'token_required') phase.value = 'failed';
      const isGone = problem.peek()?.code === 'session_not_found';
      if (isGone) events.value = [];
      state.value = isGone ? nothing : { ...state.peek(), running: false };
      void refreshSessions();
      compacting.value = undefined;
      connected.value = true;
      return unfollow();
    }
  }
  if (refused !== source) return;
  clearTimeout(timer);
  timer = setTimeout(follow, RETRY_MS);
}

addEventListener('visibilitychange', () => {
  if (document.visibilityState === 'hidden') unfollow();
  else if (phase.peek() === 'loading' || phase.peek() === 'ready') follow();
});

function show(items: readonly Sent[]): void {
  const reconnects = items.some(({ type }) => type === 'history') && call.peek() !== undefined;
  batch(() => {
    for (const item of items) take(item);
    if (items.some(({ type }) => type === 'state')) phase.value = 'ready';
  });
  // The end of a call that ended without a connection is in the history.
  announce(reconnects && !call.peek() ? [...items, ...events.peek().slice(-1)] : items);
  if (items.some(changesList)) void refreshSessions();
}

function take(item: Sent): void {
  switch (item.type) {
    case 'history':
      events.value = item.events;
      draft.value = noDraft;
      void loadPins();
      return;
    case 'state':
      state.value = item.state;
      return;
    case 'text.delta':
      draft.value = { ...draft.peek(), text: draft.peek().text + item.text };
      return;
    case 'thinking.delta':
      draft.value = { ...draft.peek(), thinking: draft.peek().thinking + item.text };
      return;
    case 'tool.progress': {
      const text = item.output.map((block) => (block.type === 'text' ? block.text : '')).join(' ');
      progress.value = new Map([...progress.peek(), [item.toolUseId, text]]);
      return;
    }
    case 'context.compacting':
      compacting.value = { messagesBefore: item.messagesBefore };
      return;
  }
  events.value = [...events.peek(), item];
  if (/^(?:model\.(?:started|completed)|call\.|draft\.)/.test(item.type)) draft.value = noDraft;
  if (/^(?:context\.compacted|call\.)/.test(item.type)) compacting.value = undefined;
}

/** Returns whether an item changes the list of sessions. */
function changesList(item: Sent): boolean {
  // The first request comes after the session was stored, so that the list has it. It may be in the history.
  if (item.type === 'model.started') return item.step === 1;
  return ['history', 'call.completed', 'call.failed', 'context.compacted'].includes(item.type);
}

/** Passes items on once per frame, because text arrives faster than it can be drawn. */
function batching(onItems: (items: readonly Sent[]) => void) {
  let waiting: Sent[] = [];
  return (item: Sent, isWanted: () => boolean) => {
    waiting.push(item);
    if (waiting.length > 1) return;
    requestAnimationFrame(() => {
      if (isWanted()) onItems(waiting);
      waiting = [];
    });
  };
}

function newSessionId(): string {
  // `randomUUID` is missing in insecure contexts.
  const bytes = crypto.getRandomValues(new Uint8Array(9));
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .toLowerCase();
}
