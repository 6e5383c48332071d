import type { Issue } from '@x/core/internal';
import type { Decisions } from '@x/harness';
import type {
  BackendInfo,
  FileInfo,
  FileText,
  RequestView,
  SessionState,
  SessionSummary,
} from '../../../src/page.js';

/** The server answered with an error, or did not answer (`offline`). */
export class ApiError extends Error {
  readonly code: string;
  /** The fields of the request that are wrong. */
  readonly issues: readonly Issue[];

  constructor(code: string, message: string, issues: readonly Issue[] = []) {
    super(message);
    this.code = code;
    this.issues = issues;
  }
}

export const sessionUrl = (id: string) => `/api/sessions/${encodeURIComponent(id)}`;

/** Long enough for a log of 32 MiB. */
const TIMEOUT_MS = 30_000;

/** The server's API, one function a route. Each rejects with an {@link ApiError}. */
export const api = {
  info: () => request<BackendInfo>('GET', '/api/info'),
  sessions: (words: string) => request<SessionSummary[]>('GET', `/api/sessions?${query({ query: words })}`),
  state: (id: string) => request<SessionState>('GET', sessionUrl(id)),
  remove: (id: string) => request('DELETE', sessionUrl(id)),
  send: (id: string, text: string) => request('POST', `${sessionUrl(id)}/messages`, { text }),
  stop: (id: string) => request('POST', `${sessionUrl(id)}/stop`, {}),
  compact: (id: string, instructions: string | undefined) =>
    request('POST', `${sessionUrl(id)}/compactions`, { instructions }),
  undo: (id: string) => request('DELETE', `${sessionUrl(id)}/compactions/last`),
  decide: (id: string, decisions: Decisions) => request('POST', `${sessionUrl(id)}/decisions`, { decisions }),
  request: (id: string, place: number | undefined) =>
    request<RequestView>('GET', `${sessionUrl(id)}/request${place === undefined ? '' : `?place=${place}`}`),
  files: () => request<readonly FileInfo[]>('GET', '/api/files'),
  file: (path: string) => request<FileText>('GET', `/api/file?${query({ path })}`),
  replay: (log: Blob, settings: Readonly<Record<string, string>>) =>
    request<string>('POST', `/api/replay?${query(settings)}`, log),
};

/** Parameters of an address; empty ones are left out. */
function query(parameters: Readonly<Record<string, string | number>>): string {
  const given = Object.entries(parameters).filter(([, value]) => value !== '');
  return String(new URLSearchParams(given.map(([name, value]) => [name, String(value)])));
}

async function request<Answer = void>(method: string, url: string, body?: unknown): Promise<Answer> {
  const isFile = body instanceof Blob;
  const type = isFile ? 'application/octet-stream' : 'application/json';
  const options: RequestInit = { method, signal: AbortSignal.timeout(TIMEOUT_MS) };
  if (body !== undefined) {
    options.body = isFile ? body : JSON.stringify(body);
    options.headers = { 'Content-Type': type };
  }
  const response = await fetch(url, options).catch(() => {
    throw new ApiError('offline', 'The server does not answer. It keeps the conversation.');
  });
  if (response.status === 204) return undefined as Answer;
  if (response.ok) {
    const isPage = response.headers.get('content-type')?.startsWith('text/html');
    return (await (isPage ? response.text() : response.json())) as Answer;
  }
  const { error } = (await response.json().catch(() => ({}))) as {
    readonly error?: { readonly code: string; readonly message: string; readonly issues: readonly Issue[] };
  };
  const message = error?.message ?? `The server answered ${response.status}.`;
  throw new ApiError(error?.code ?? `http_${response.status}`, message, error?.issues);
}
