import { useSignal } from '@preact/signals';
import { FileText, NotebookText, Search } from 'lucide-preact';
import { plural, size } from '../lib/format.js';
import { useLoaded } from '../lib/use-loaded.js';
import { api } from '../state/api.js';
import { fileAddress } from '../state/view.js';
import { ViewFrame } from './parts.js';

/** What the agent remembers over all conversations: MEMORY.md, the notes of days, and a search over them. */
export function MemoryView() {
  const words = useSignal('');
  const query = words.value.trim();
  const files = useLoaded(() => api.memory(), []);
  const hits = useLoaded(() => (query === '' ? undefined : api.searchMemory(query)), [query]);
  return (
    <ViewFrame
      title="Memory"
      lead="What the agent keeps from one conversation to the next. A model takes notes after every call and before a compaction, merges them into MEMORY.md from time to time, and reads MEMORY.md in its system prompt."
      failure={files.failure || hits.failure}
    >
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
        {hits.value?.map(({ path, name, lineNumber, snippet }) => (
          <li key={`${path}:${lineNumber}`}>
            <a class="memory-item press row small pad" href={fileAddress(path)}>
              <span class="grow">{snippet}</span>
              <span class="quiet label">
                {name}:{lineNumber}
              </span>
            </a>
          </li>
        ))}
        {!hits.value &&
          files.value?.map(({ path, name, kind, size: bytes }) => {
            const Icon = kind === 'core' ? NotebookText : FileText;
            return (
              <li key={path}>
                <a class="memory-item press row small pad" href={fileAddress(path)}>
                  <Icon class="quiet" size={16} aria-hidden="true" />
                  <span class="clip">{name.replace(/^memory\//, '')}</span>
                  <span class="figure">{size(bytes)}</span>
                </a>
              </li>
            );
          })}
      </ul>
      {files.value?.length === 0 && (
        <p class="quiet small">Memory is empty. The agent takes notes while it works.</p>
      )}
    </ViewFrame>
  );
}
