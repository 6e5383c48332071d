import { batch, computed, signal } from '@preact/signals';
import type { PermissionContext } from '@x/core';
import type { Decision } from '@x/harness';
import { foldEvent } from '../../../src/server/fold-event.js';
import type { SessionSnapshot } from '../../../src/server/session-feed.js';
import { emptyTranscript, type PageEvent, type Transcript } from '../../../src/server/transcript.js';
import { announce } from './announcer.js';
import { ApiError, api } from './api.js';
import { followSession } from './event-source.js';
import { info } from './info.js';
import { refreshSessions } from './sessions.js';

/** `new`: nothing has been said yet, and the server knows nothing of it. */
type Phase = 'new' | 'loading' | 'ready' | 'failed';

export const phase = signal<Phase>('new');
const transcript = signal<Transcript>(emptyTranscript(newSessionId()));
export const connected = signal(true);
/** Why something that was just asked for did not happen. */
export const problem = signal<{ readonly code: string; readonly message: string } | undefined>(undefined);

export const entries = computed(() => transcript.value.entries);
export const fates = computed(() => transcript.value.fates);
export const toolRuns = computed(() => transcript.value.toolRuns);
export const replies = computed(() => transcript.value.replies);
export const call = computed(() => transcript.value.call);
export const compacting = computed(() => transcript.value.compacting);
export const context = computed(() => transcript.value.context);
export const timeline = computed(() => transcript.value.timeline);
export const todos = computed(() => transcript.value.todos);
export const pending = computed(() => transcript.value.pending);
export const work = computed(() => transcript.value.work);
export const totals = computed(() => transcript.value.totals);
export const title = computed(() => transcript.value.title);
export const sessionId = computed(() => transcript.value.sessionId);
/** Whether the agent is at work, or about to be. */
export const busy = computed(
  () => sending.value || call.value !== undefined || compacting.value !== undefined,
);
export const sending = signal(false);

let unfollow = () => {};
/** Counts what was opened, so that a late answer for another session is dropped. */
let opened = 0;

/** An empty conversation. */
export function startSession(): void {
  begin('new', newSessionId());
}

/** Shows a session that the server has, and follows it. */
export async function openSession(id: string): Promise<void> {
  if (id === sessionId.peek() && phase.peek() !== 'failed') return;
  begin('loading', id);
  await load(id);
}

/** Sends what the user says; the first message creates the session. */
export async function send(text: string): Promise<boolean> {
  const id = sessionId.peek();
  return attempt(async () => {
    await api.send(id, text);
    // It exists now; what happened meanwhile is in its transcript.
    if (phase.peek() === 'new' && id === sessionId.peek()) await load(id);
  });
}

export async function compact(instructions: string | undefined): Promise<boolean> {
  if (phase.peek() === 'new') {
    problem.value = { code: 'empty', message: 'There is nothing to compact yet: say something first.' };
    return false;
  }
  return attempt(() => api.compact(sessionId.peek(), instructions));
}

export const stop = () => attempt(() => api.stop(sessionId.peek()));
export const undo = (compactionId: string) => attempt(() => api.undo(sessionId.peek(), compactionId));
export const decide = (decision: Decision, ...approvals: readonly string[]) =>
  attempt(() => api.decide(sessionId.peek(), Object.fromEntries(approvals.map((id) => [id, decision]))));

export const setPermissionMode = (mode: PermissionContext['mode']) =>
  attempt(() => api.setPermissionMode(sessionId.peek(), mode));
export const setPlanMode = (active: boolean) => attempt(() => api.setPlanMode(sessionId.peek(), active));

async function attempt(action: () => Promise<void>): Promise<boolean> {
  problem.value = undefined;
  sending.value = true;
  try {
    await action();
    return true;
  } catch (error) {
    report(error);
    return false;
  } finally {
    sending.value = false;
    void refreshSessions();
  }
}

/** Leaves what was shown. At once: the address follows both, and must never see the one without the other. */
function begin(next: Phase, id: string): void {
  opened++;
  unfollow();
  unfollow = () => {};
  batch(() => {
    phase.value = next;
    transcript.value = emptyTranscript(id);
    problem.value = undefined;
    connected.value = true;
  });
}

/** Gets a session's transcript and follows it from there, unless another one was opened meanwhile. */
async function load(id: string): Promise<void> {
  const turn = opened;
  try {
    const snapshot = await api.transcript(id);
    if (turn === opened) show(snapshot);
  } catch (error) {
    if (turn !== opened) return;
    report(error);
    phase.value = 'failed';
  }
}

function show(snapshot: SessionSnapshot): void {
  unfollow();
  batch(() => {
    transcript.value = snapshot.transcript;
    phase.value = 'ready';
  });
  follow(snapshot.transcript.sessionId, snapshot.lastEventId);
}

function follow(id: string, after: string): void {
  unfollow = followSession(id, after, {
    onConnected: (now) => {
      connected.value = now;
      if (now && problem.peek()?.code === 'offline') problem.value = undefined;
    },
    onEvents: (events) => {
      const told = events.filter((event) => event.type !== 'reset');
      if (told.length < events.length) return void load(id);
      transcript.value = told.reduce(foldEvent, transcript.peek());
      announce(told);
      if (told.some(changesList)) void refreshSessions();
    },
  });
}

/** Whether the list of sessions shows something else after this. */
function changesList(event: PageEvent): boolean {
  if (event.type === 'message.added') return event.message.role === 'user';
  return ['call.completed', 'call.failed', 'context.compacted'].includes(event.type);
}

function report(error: unknown): void {
  if (!(error instanceof ApiError)) throw error;
  problem.value = { code: error.code, message: error.message };
}

function newSessionId(): string {
  // `randomUUID` is missing where a page is not served over a trusted connection.
  const bytes = crypto.getRandomValues(new Uint8Array(9));
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .toLowerCase();
}

/** Tokens of the model's window, as the last call said, else as configured. */
export const windowSize = computed(() => context.value?.contextWindow ?? info.value?.contextWindow ?? 0);

/** What stands in the composer. */
export const draftText = signal('');
