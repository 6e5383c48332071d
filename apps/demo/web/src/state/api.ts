import type { Issue, PermissionContext } from '@x/core';
import type { Decisions } from '@x/harness';
import type {
  BackendInfo,
  ExpandedMessage,
  FileInfo,
  FilePart,
  MemoryLine,
  MemoryOverview,
  RequestView,
  SessionSummary,
} from '../../../src/server/backend.js';
import type { SessionSnapshot } from '../../../src/server/session-feed.js';

/** What the server answered instead of what was asked for, or that it did not answer (`offline`). */
export class ApiError extends Error {
  readonly code: string;
  /** What is wrong with which field of what was sent. */
  readonly issues: readonly Issue[];

  constructor(
    code: string,
    message: string,
    { issues = [], ...options }: ErrorOptions & { readonly issues?: readonly Issue[] | undefined } = {},
  ) {
    super(message, options);
    this.name = 'ApiError';
    this.code = code;
    this.issues = issues;
  }
}

const session = (id: string) => `/api/sessions/${encodeURIComponent(id)}`;

/** Of an answer: long for a log of 32 MiB, short for somebody who waits. */
const TIMEOUT_MS = 30_000;

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
  setPermissionMode: (id: string, mode: PermissionContext['mode']) =>
    request<void>('PUT', `${session(id)}/permissions`, { mode }),
  setPlanMode: (id: string, active: boolean) => request<void>('PUT', `${session(id)}/plan`, { active }),
  request: (id: string, step?: number) =>
    request<RequestView>('GET', `${session(id)}/request${step === undefined ? '' : `?step=${step}`}`),
  files: () => request<readonly FileInfo[]>('GET', '/api/files'),
  memory: () => request<MemoryOverview>('GET', '/api/memory'),
  memoryFile: (path: string) =>
    request<{ path: string; text: string }>('GET', `/api/memory/file?path=${encodeURIComponent(path)}`),
  searchMemory: (query: string) =>
    request<readonly MemoryLine[]>('GET', `/api/memory/search?query=${encodeURIComponent(query)}`),
  replay: (log: Blob, settings: Readonly<Record<string, string>>) =>
    request<string>('POST', `/api/replay?${new URLSearchParams(settings)}`, log),
  expand: (id: string, messageId: string) =>
    request<ExpandedMessage>('GET', `${session(id)}/messages/${encodeURIComponent(messageId)}`),
  file: (path: string, offset: number) =>
    request<FilePart>('GET', `/api/file?path=${encodeURIComponent(path)}&offset=${offset}`),
  /** The beginning of a file, or nothing where there is none. */
  fileIfAny: (path: string) =>
    request<FilePart | undefined>('GET', `/api/file?path=${encodeURIComponent(path)}&optional=yes`),
};

async function request<Answer>(method: string, url: string, body?: unknown): Promise<Answer> {
  let response: Response;
  try {
    response = await fetch(url, { method, ...encoded(body), signal: AbortSignal.timeout(TIMEOUT_MS) });
  } catch (cause) {
    throw new ApiError('offline', 'The server does not answer. The conversation is kept there.', { cause });
  }
  if (response.ok) {
    if (response.status !== 200) return undefined as Answer;
    const isPage = response.headers.get('content-type')?.startsWith('text/html');
    return (await (isPage ? response.text() : response.json())) as Answer;
  }
  const answer = (await response.json().catch(() => undefined)) as
    | { error?: { code?: string; message?: string; issues?: readonly Issue[] } }
    | undefined;
  throw new ApiError(
    answer?.error?.code ?? `http_${response.status}`,
    answer?.error?.message ?? `The server answered ${response.status}.`,
    { issues: answer?.error?.issues },
  );
}

/** JSON, or a file as it is. */
function encoded(body: unknown): RequestInit {
  if (body === undefined) return {};
  if (body instanceof Blob) return { body, headers: { 'Content-Type': 'application/octet-stream' } };
  return { body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } };
}
