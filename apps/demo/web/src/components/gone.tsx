import type { GoneItem } from '@x/core';
import { PinOff } from 'lucide-preact';
import { inOneLine } from '../../../src/page.js';
import { exactCount, plural } from '../lib/format.js';
import { useLoaded } from '../lib/use-loaded.js';
import { api } from '../state/api.js';
import { changes, fates, places, sessionId, transcript, unpin } from '../state/session.js';
import { showCompaction, showMessage } from '../state/show-message.js';
import { fatesInWords, isStanding } from '../state/transcript.js';
import { Fold, IconButton } from './parts.js';

/** The content that compactions removed from the model's view, the most important first, and the pins. */
export function Gone() {
  return (
    <Fold id="gone" line={<span class="grow heading">What is gone, and what is pinned</span>}>
      {() => <ReceiptView />}
    </Fold>
  );
}

const kinds: Readonly<Record<GoneItem['kind'], string>> = {
  request: 'You asked',
  decision: 'Answered',
  error: 'Failed',
  file: 'Changed',
};
const remains: Readonly<Record<GoneItem['left'], string>> = {
  shortened: 'shortened',
  record: 'in the summary',
  log: 'in the log',
};

function ReceiptView() {
  const id = sessionId.value;
  const { value: receipt, failure } = useLoaded(
    () => api.receipt(id),
    [id, places.value.length, changes.value],
  );
  if (!receipt) return <p class="quiet small">{failure || 'Reading the log …'}</p>;
  const { all, gone, items, pins } = receipt;
  const unmade = new Set([...transcript.value.toolRuns.values()].map((run) => run.unmade && run.messageId));
  const rows = [
    ...items.map(({ kind, messageId, text, left }) => ({
      name: kind === 'error' && unmade.has(messageId) ? 'Not run' : kinds[kind],
      text: inOneLine(text),
      where: remains[left],
      show: () => showMessage(messageId),
    })),
    ...transcript.value.compactions.filter(isStanding).map((compaction) => ({
      name: 'Compacted',
      // A message that several compactions changed counts once, where the last one did.
      text: fatesInWords(
        compaction.manifest.filter(
          ({ messageId }) => fates.value.get(messageId)?.compactionId === compaction.id,
        ),
      ),
      where: `after request ${places.value[compaction.place - 1]?.request}`,
      show: () => showCompaction(compaction.id),
    })),
  ].filter(({ text }) => text !== '');
  const present = pins.filter(({ heldBy }) => heldBy !== undefined).length;
  return (
    <div class="stack small">
      <p class="quiet">
        {gone === 0
          ? 'Nothing is gone.'
          : `The model no longer sees ${exactCount(gone)} of ${plural(all, 'message')}. The log has all of them.`}
      </p>
      {rows.map(({ name, text, where, show }, index) => (
        <button key={index} type="button" class="press row gone-item" onClick={show}>
          <span class="grow">
            <strong>{name}</strong> {text}
          </span>
          <span class="tag">{where}</span>
        </button>
      ))}
      {pins.length > 0 && (
        <p class="quiet">
          {present} of {plural(pins.length, 'pin')} present
        </p>
      )}
      {pins.map(({ id: pinId, text }) => (
        <div key={pinId} class="row">
          <span class="clip">{inOneLine(text)}</span>
          <IconButton label="Unpin" icon={PinOff} onClick={() => void unpin(pinId)} />
        </div>
      ))}
    </div>
  );
}
