import './memory-view.css';
import { signal } from '@preact/signals';
import { FileText, NotebookText, Search } from 'lucide-preact';
import { useEffect, useRef } from 'preact/hooks';
import type { MemoryLine, MemoryOverview } from '../../../src/server/backend.js';
import { plural, size } from '../lib/format.js';
import { ApiError, api } from '../state/api.js';
import { info } from '../state/info.js';
import { ViewFrame } from './view-frame.js';

/** What is remembered over all conversations: MEMORY.md, the notes of days, and a search over all of them. */
export function MemoryView() {
  useEffect(() => void loadMemory(), []);
  return (
    <ViewFrame
      title="Memory"
      lead="What the agent keeps from one conversation to the next. Notes are added after every call and before a compaction; now and then they are merged into MEMORY.md, which is put into a model’s system prompt."
    >
      <div class="memory">
        <div class="stack grow">
          <SearchField />
          {hits.value ? <Hits /> : <Files />}
        </div>
        <Text />
      </div>
      {memoryFailure.value && (
        <p class="failure small" role="alert">
          {memoryFailure.value}
        </p>
      )}
    </ViewFrame>
  );
}

function SearchField() {
  const timer = useRef<ReturnType<typeof setTimeout>>();
  return (
    <label class="search card row">
      <Search size={16} aria-hidden="true" />
      <input
        class="grow"
        type="search"
        placeholder="Search everything remembered"
        aria-label="Search memory"
        onInput={(event) => {
          const query = event.currentTarget.value;
          clearTimeout(timer.current);
          timer.current = setTimeout(() => void searchMemory(query), 150);
        }}
      />
    </label>
  );
}

function Hits() {
  const found = hits.value ?? [];
  return (
    <section aria-label="Found lines">
      <p class="quiet label" role="status">
        {found.length === 0 ? 'No line has these words' : plural(found.length, 'line')}
      </p>
      <ul>
        {found.map(({ path, lineNumber, snippet }) => (
          <li key={`${path}:${lineNumber}`}>
            <button type="button" class="memory-item" onClick={() => void showFile(path, lineNumber)}>
              <span class="memory-place quiet label">
                {path}:{lineNumber}
              </span>
              <span>{snippet}</span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Files() {
  const all = overview.value;
  if (!all) return null;
  const current = shown.value?.path;
  return (
    <section aria-label="Files">
      <h2 class="quiet label">Files</h2>
      {all.files.length === 0 && (
        <p class="quiet small">
          {info.value?.model.embedded
            ? 'Nothing is remembered: the embedded guide takes no notes. A model does.'
            : 'Nothing is remembered yet: notes are taken at the end of a call and before a compaction.'}
        </p>
      )}
      <ul>
        {all.files.map(({ path, kind, size: bytes }) => {
          const Icon = kind === 'core' ? NotebookText : FileText;
          return (
            <li key={path}>
              <button
                type="button"
                class="memory-item row"
                aria-current={path === current}
                onClick={() => void showFile(path)}
              >
                <Icon class="quiet" size={16} aria-hidden="true" />
                <span class="grow">{path.replace(/^memory\//, '')}</span>
                <span class="figure">{size(bytes)}</span>
              </button>
            </li>
          );
        })}
      </ul>
    </section>
  );
}

function Text() {
  const file = shown.value;
  const marked = useRef<HTMLLIElement>(null);
  const line = markedLine.value;
  useEffect(() => marked.current?.scrollIntoView({ block: 'nearest' }), [file, line]);
  if (!file) return <div class="memory-text" />;
  const lines = file.text.replace(/\n$/, '').split('\n');
  return (
    <section class="memory-text" aria-label={file.path}>
      <h2 class="quiet label">{file.path}</h2>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable with keys. */}
      <ol class="card" tabIndex={0}>
        {lines.map((text, index) => (
          <li
            key={index}
            ref={index + 1 === line ? marked : null}
            data-marked={index + 1 === line}
            data-heading={text.startsWith('#')}
          >
            <span aria-hidden="true" class="memory-number">
              {index + 1}
            </span>
            <span>{text || '\u00a0'}</span>
          </li>
        ))}
      </ol>
    </section>
  );
}

export const overview = signal<MemoryOverview | undefined>(undefined);
/** The file that is shown. */
export const shown = signal<{ readonly path: string; readonly text: string } | undefined>(undefined);
/** The line that was asked for, from 1. */
const markedLine = signal<number | undefined>(undefined);
export const hits = signal<readonly MemoryLine[] | undefined>(undefined);
const memoryFailure = signal('');

let asked = 0;

/** What there is, and the first of it. */
async function loadMemory(): Promise<void> {
  await attempt(async () => {
    overview.value = await api.memory();
    const path = shown.peek()?.path ?? overview.value.files[0]?.path;
    if (path !== undefined) shown.value = await api.memoryFile(path);
  });
}

async function showFile(path: string, line?: number): Promise<void> {
  await attempt(async () => {
    shown.value = await api.memoryFile(path);
    markedLine.value = line;
  });
}

/** The lines with these words; none asked for: no hits are shown. */
export async function searchMemory(query: string): Promise<void> {
  const turn = ++asked;
  if (!query.trim()) {
    hits.value = undefined;
    return;
  }
  await attempt(async () => {
    const found = await api.searchMemory(query);
    if (turn === asked) hits.value = found;
  });
}

async function attempt(action: () => Promise<void>): Promise<void> {
  try {
    memoryFailure.value = '';
    await action();
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    memoryFailure.value = error.message;
  }
}
