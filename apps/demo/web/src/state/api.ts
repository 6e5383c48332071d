import type { ClientError, CompactOptions, Receipt } from '@x/core';
import type { Decisions } from '@x/harness';
import type {
  BackendInfo,
  FileInfo,
  FileText,
  RequestView,
  SessionState,
  SessionSummary,
} from '../../../src/page.js';

/** The server responded with an error, or did not respond (`offline`). */
export class ApiError extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

export const sessionUrl = (id: string) => `/api/sessions/${encodeURIComponent(id)}`;

const TIMEOUT_MS = 30_000;

/** The server's API, one function per route. Each rejects with an {@link ApiError}. */
export const api = {
  info: () => request<BackendInfo>('GET', '/api/info'),
  sessions: (words: string) =>
    request<SessionSummary[]>('GET', `/api/sessions?query=${encodeURIComponent(words)}`),
  state: (id: string) => request<SessionState>('GET', sessionUrl(id)),
  remove: (id: string) => request('DELETE', sessionUrl(id)),
  send: (id: string, text: string) => request('POST', `${sessionUrl(id)}/messages`, { text }),
  stop: (id: string) => request<readonly string[] | undefined>('POST', `${sessionUrl(id)}/stop`, {}),
  compact: (id: string, options: Pick<CompactOptions, 'instructions' | 'upTo'>) =>
    request('POST', `${sessionUrl(id)}/compactions`, options),
  pin: (id: string, messageId: string) => request('POST', `${sessionUrl(id)}/pins`, { messageId }),
  unpin: (id: string, pin: string) => request('POST', `${sessionUrl(id)}/unpin`, { pin }),
  receipt: (id: string) => request<Receipt | null>('GET', `${sessionUrl(id)}/receipt`),
  undo: (id: string) => request('DELETE', `${sessionUrl(id)}/compactions/last`),
  decide: (id: string, decisions: Decisions) => request('POST', `${sessionUrl(id)}/decisions`, { decisions }),
  request: (id: string, place: number | undefined) =>
    request<RequestView>('GET', `${sessionUrl(id)}/request${place === undefined ? '' : `?place=${place}`}`),
  files: () => request<readonly FileInfo[]>('GET', '/api/files'),
  file: (path: string) => request<FileText>('GET', `/api/file?path=${encodeURIComponent(path)}`),
};

async function request<Answer = void>(method: string, url: string, body?: unknown): Promise<Answer> {
  const options: RequestInit = { method, signal: AbortSignal.timeout(TIMEOUT_MS) };
  if (body !== undefined) {
    options.body = JSON.stringify(body);
    options.headers = { 'Content-Type': 'application/json' };
  }
  const response = await fetch(url, options).catch(() => {
    throw new ApiError('offline', 'The server does not answer. The conversation is stored there.');
  });
  if (response.status === 204) return undefined as Answer;
  if (response.ok) return (await response.json()) as Answer;
  const { error } = (await response.json().catch(() => ({}))) as {
    readonly error?: ClientError;
  };
  const message = error?.message ?? `The server answered ${response.status}.`;
  throw new ApiError(error?.code ?? `http_${response.status}`, message);
}
