import { useSignal } from '@preact/signals';
import { FileText, NotebookText, Search } from 'lucide-preact';
import { useEffect, useRef } from 'preact/hooks';
import { plural, size } from '../lib/format.js';
import { useLoaded } from '../lib/use-loaded.js';
import { api } from '../state/api.js';
import { info } from '../state/session.js';
import { ViewFrame } from './parts.js';

interface Place {
  readonly path: string;
  /** From 1. */
  readonly line?: number | undefined;
}

/** What the agent remembers over all conversations: MEMORY.md, the notes of days, and a search over them. */
export function MemoryView() {
  // Long because the search and the list take each other's place.
  const words = useSignal('');
  const chosen = useSignal<Place | undefined>(undefined);
  const files = useLoaded(() => api.memory(), []);
  const path = chosen.value?.path ?? files.value?.[0]?.path;
  const file = useLoaded(() => (path === undefined ? undefined : api.memoryFile(path)), [path]);
  const query = words.value.trim();
  const hits = useLoaded(() => (query === '' ? undefined : api.searchMemory(query)), [query]);
  return (
    <ViewFrame
      title="Memory"
      lead="What the agent keeps from one conversation to the next. It adds notes after every call and before a compaction, and merges them into MEMORY.md from time to time. A model reads MEMORY.md in its system prompt."
      failure={files.failure || file.failure || hits.failure}
    >
      <div class="memory">
        <div class="stack">
          <label class="search card row">
            <Search size={16} aria-hidden="true" />
            <input
              class="grow"
              type="search"
              placeholder="Search memory"
              aria-label="Search memory"
              onInput={(event) => (words.value = event.currentTarget.value)}
            />
          </label>
          {hits.value && (
            <p class="quiet label" role="status">
              {hits.value.length === 0 ? 'No line has these words' : plural(hits.value.length, 'line')}
            </p>
          )}
          <ul aria-label={hits.value ? 'Found lines' : 'Files'}>
            {hits.value?.map(({ path, lineNumber: line, snippet }) => (
              <li key={`${path}:${line}`}>
                <button
                  type="button"
                  class="memory-item small"
                  onClick={() => (chosen.value = { path, line })}
                >
                  <span class="memory-place quiet label">
                    {path}:{line}
                  </span>
                  {snippet}
                </button>
              </li>
            ))}
            {!hits.value &&
              files.value?.map(({ path: name, kind, size: bytes }) => {
                const Icon = kind === 'core' ? NotebookText : FileText;
                return (
                  <li key={name}>
                    <button
                      type="button"
                      class="memory-item small row"
                      aria-current={name === path}
                      onClick={() => (chosen.value = { path: name })}
                    >
                      <Icon class="quiet" size={16} aria-hidden="true" />
                      <span class="clip">{name.replace(/^memory\//, '')}</span>
                      <span class="figure">{size(bytes)}</span>
                    </button>
                  </li>
                );
              })}
          </ul>
          {files.value?.length === 0 && (
            <p class="quiet small">
              {info.value?.model.embedded
                ? 'Memory is empty: the embedded guide writes no memories. A language model does.'
                : 'Memory is empty. The agent takes notes at the end of a call and before a compaction.'}
            </p>
          )}
        </div>
        {file.value && <MemoryText {...file.value} line={chosen.value?.line} />}
      </div>
    </ViewFrame>
  );
}

interface MemoryTextProps extends Place {
  readonly text: string;
}

function MemoryText({ path, text, line }: MemoryTextProps) {
  const marked = useRef<HTMLLIElement>(null);
  useEffect(() => marked.current?.scrollIntoView({ block: 'nearest' }), [path, line]);
  return (
    <section class="memory-text" aria-label={path}>
      <h2 class="quiet label">{path}</h2>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable with keys. */}
      <ol class="card" tabIndex={0}>
        {text
          .replace(/\n$/, '')
          .split('\n')
          .map((words, index) => (
            <li key={index} ref={index + 1 === line ? marked : null} data-marked={index + 1 === line}>
              <span aria-hidden="true" class="memory-number quiet">
                {index + 1}
              </span>
              <span>{words || '\u00a0'}</span>
            </li>
          ))}
      </ol>
    </section>
  );
}
