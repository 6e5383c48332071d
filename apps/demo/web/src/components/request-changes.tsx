import { useSignal } from '@preact/signals';
import type { RequestMessage } from '../../../src/page.js';
import { exactCount, plural, size } from '../lib/format.js';
import { useLoaded } from '../lib/use-loaded.js';
import { api } from '../state/api.js';
import { places, sessionId, transcript } from '../state/session.js';
import { showMessage } from '../state/show-message.js';
import { Button, CodeBlock, Fold } from './parts.js';

/** Number of a group's messages that are shown at first. */
const FIRST = 8;

interface RequestChangesProps {
  /** The place: requests, compactions and undos are counted from 1. Default: the next request. */
  readonly place: number | undefined;
  /** Whether unchanged messages are listed too, collapsed. */
  readonly whole?: boolean;
}

/** The model's view at a place of the session, message by message, and the changes since the previous place. */
export function RequestChanges({ place, whole = false }: RequestChangesProps) {
  const session = sessionId.value;
  // The next request changes with every place, so the number of places is a key.
  const { value: request, failure } = useLoaded(
    () => api.request(session, place),
    [session, place, place ?? places.value.length],
  );
  if (!request)
    return <p class={failure ? 'failure small' : 'quiet small'}>{failure || 'Reading the log …'}</p>;
  const group = (heading: string, messages: readonly RequestMessage[]) =>
    messages.length > 0 && <Rows key={heading} heading={heading} messages={messages} />;
  const { compaction, before } = places.value[(place ?? 0) - 1] ?? {};
  const isUndo = before !== undefined && !compaction;
  // After an undo, the earlier summary counts as changed, because it is not a message of the log.
  const with_ = (change: RequestMessage['change']) =>
    request.messages.filter((one) => (isUndo && one.before ? 'changed' : one.change) === change);
  const [changed, added] = compaction ? ['Shortened', 'In their place'] : ['Changed back', 'Restored'];
  const same = with_(undefined);
  const hasChanged = place !== undefined && same.length < request.messages.length + request.removed.length;
  return (
    <div class="stack request-changes">
      {whole && <Frame place={place} isListed={request.messages[0]?.label.startsWith('System: ')} />}
      {group('Removed', request.removed)}
      {group(changed, with_('changed'))}
      {group(before === undefined ? 'New' : added, with_('added'))}
      {whole && !hasChanged && group('Messages', same)}
      {whole && hasChanged && same.length > 0 && (
        <Fold
          id={`unchanged-${place}`}
          line={
            <>
              <span class="grow">Unchanged</span>
              <span class="figure">{plural(same.length, 'message')}</span>
            </>
          }
        >
          {() => group('', same)}
        </Fold>
      )}
    </div>
  );
}

/** The parts of a request besides its messages. Only their sizes are stored; the text of the last request is known until the server stops. */
function Frame({
  place,
  isListed,
}: Pick<RequestChangesProps, 'place'> & { readonly isListed: boolean | undefined }) {
  const {
    system = 0,
    tools = 0,
    reminders = 0,
  } = places.value[(place ?? places.value.length) - 1]?.context ?? {};
  const [whole, ...parts] = [system + tools + reminders, system, tools, reminders].map(exactCount);
  const words = `${parts[0]} of the system prompt, ${parts[1]} of tools, ${parts[2]} of memory and reminders`;
  return (
    <p class="quiet small request-frame">{`Also sent: ${whole} tokens, ${words}. ${isListed ? 'The list begins with the prompt and the tools, as last sent.' : 'Their text is not stored.'}`}</p>
  );
}

interface RowsProps {
  readonly heading: string;
  readonly messages: readonly RequestMessage[];
}

function Rows({ heading, messages }: RowsProps) {
  const all = useSignal(false);
  const shown = all.value ? messages : messages.slice(0, FIRST);
  return (
    <div>
      {heading && (
        <h3 class="row label quiet">
          <span class="grow">{heading}</span>
          {plural(messages.length, 'message')}
        </h3>
      )}
      {shown.map((message) => (
        <Row key={message.id} group={heading} message={message} />
      ))}
      {shown.length < messages.length && (
        <Button onClick={() => (all.value = true)}>Show all {messages.length}</Button>
      )}
    </div>
  );
}

interface RowProps {
  readonly group: string;
  readonly message: RequestMessage;
}

/** A message with its tokens. It expands to its text, and links to its position in the conversation. */
function Row({ group, message }: RowProps) {
  const { id, source, label, text, tokens, before } = message;
  const former = source === 'summary' ? 'The summary that it replaced' : 'Before';
  const line = (
    <>
      <span class={`swatch source-${source}`} aria-hidden="true" />
      <span class="clip">{label}</span>
      <span class="figure" title={`${exactCount(tokens)} tokens`}>
        {exactCount(tokens)}
      </span>
    </>
  );
  return (
    <Fold id={`message-${group}-${id}`} class="request-row" line={line}>
      {() => (
        <div class="stack">
          <CodeBlock
            label={before === undefined ? 'Text' : 'The model sees'}
            text={text}
            figure={size(text.length)}
          />
          {before !== undefined && <CodeBlock label={former} text={before} figure={size(before.length)} />}
          {transcript.value.messages.has(id) && (
            <Button onClick={() => showMessage(id)}>Show in the conversation</Button>
          )}
        </div>
      )}
    </Fold>
  );
}
