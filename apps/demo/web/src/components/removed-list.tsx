import './removed-list.css';
import { useComputed, useSignal } from '@preact/signals';
import type { ManifestEntry } from '@x/core';
import type { CompactionRecord } from '../../../src/server/transcript.js';
import { fatesInWords } from '../lib/compaction-words.js';
import { messagesById } from '../state/messages-by-id.js';
import { RemovedItem } from './removed-item.js';

/** How many are shown at first. */
const FIRST = 8;

/** What the model no longer sees as it was, message by message. */
export function RemovedList({ compaction }: { readonly compaction: CompactionRecord }) {
  const all = useSignal(false);
  const manifest = useComputed(() => inLogOrder(compaction.manifest)).value;
  const shown = all.value ? manifest : manifest.slice(0, FIRST);
  return (
    <section>
      <h3 class="removed-heading">
        What the model no longer sees <span>{fatesInWords(manifest)}</span>
      </h3>
      <ul>
        {shown.map((entry) => (
          <li key={entry.messageId}>
            <RemovedItem
              entry={entry}
              compactionId={compaction.id}
              stub={compaction.stubs?.[entry.messageId]}
            />
          </li>
        ))}
      </ul>
      {shown.length < manifest.length && (
        <button
          type="button"
          class="button removed-more"
          onClick={() => {
            all.value = true;
          }}
        >
          Show all {manifest.length}
        </button>
      )}
    </section>
  );
}

/** As people remember it: oldest first. */
function inLogOrder(manifest: readonly ManifestEntry[]): readonly ManifestEntry[] {
  const places = new Map([...messagesById.value.keys()].map((id, index) => [id, index]));
  return [...manifest].sort(
    (left, right) => (places.get(left.messageId) ?? -1) - (places.get(right.messageId) ?? -1),
  );
}
