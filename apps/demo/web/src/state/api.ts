import type { Decisions } from '@x/harness';
import type { BackendInfo, ExpandedMessage, FilePart, SessionSummary } from '../../../src/server/backend.js';
import type { SessionSnapshot } from '../../../src/server/session-feed.js';

/** What the server answered instead of what was asked for, or that it did not answer (`offline`). */
export class ApiError extends Error {
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ApiError';
    this.code = code;
  }
}

const session = (id: string) => `/api/sessions/${encodeURIComponent(id)}`;

/** Where a session's events come from, after the one named. */
export function eventsUrl(id: string, after: string): string {
  return `${session(id)}/events?after=${encodeURIComponent(after)}`;
}

/** The server's API, one function a route. Each rejects with an {@link ApiError}. */
export const api = {
  info: () => request<BackendInfo>('GET', '/api/info'),
  sessions: () => request<SessionSummary[]>('GET', '/api/sessions'),
  transcript: (id: string) => request<SessionSnapshot>('GET', session(id)),
  remove: (id: string) => request<void>('DELETE', session(id)),
  send: (id: string, text: string) => request<void>('POST', `${session(id)}/messages`, { text }),
  stop: (id: string) => request<void>('POST', `${session(id)}/stop`),
  compact: (id: string, instructions: string | undefined) =>
    request<void>('POST', `${session(id)}/compactions`, instructions ? { instructions } : {}),
  undo: (id: string, compactionId: string) =>
    request<void>('DELETE', `${session(id)}/compactions/${encodeURIComponent(compactionId)}`),
  decide: (id: string, decisions: Decisions) =>
    request<void>('POST', `${session(id)}/decisions`, { decisions }),
  setPlanMode: (id: string, active: boolean) => request<void>('PUT', `${session(id)}/plan`, { active }),
  expand: (id: string, messageId: string) =>
    request<ExpandedMessage>('GET', `${session(id)}/messages/${encodeURIComponent(messageId)}`),
  file: (path: string, offset: number) =>
    request<FilePart>('GET', `/api/file?path=${encodeURIComponent(path)}&offset=${offset}`),
};

async function request<Answer>(method: string, url: string, body?: unknown): Promise<Answer> {
  let response: Response;
  try {
    response = await fetch(url, {
      method,
      ...(body === undefined
        ? {}
        : { body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } }),
    });
  } catch (cause) {
    throw new ApiError('offline', 'The server does not answer. The conversation is kept there.', { cause });
  }
  if (response.ok) {
    return (response.status === 200 ? await response.json() : undefined) as Answer;
  }
  const answer = (await response.json().catch(() => undefined)) as
    | { error?: { code?: string; message?: string } }
    | undefined;
  throw new ApiError(
    answer?.error?.code ?? `http_${response.status}`,
    answer?.error?.message ?? `The server answered ${response.status}.`,
  );
}
