import { type Message, SessionKey, type SessionKeyParts, textOf, toolUsesOf } from '@x/core';
import { headOf } from '@x/core/internal';
import { printable } from '@x/harness/view';
import { command, positive } from '../command.js';
import { findLog, findSession, noSession } from '../find-session.js';
import { scopeOf } from '../identity-options.js';
import { namesStore, type StoreValues, sessionOptions, withStore } from '../open-store.js';
import { readEvents, requestOf } from '../session-events.js';

/** Maximum UTF-16 units of a text without `--full`. */
const MAX_SHOWN = 400;

/**
 * Prints the log of a session: every message, including those that compaction removed. If there is no log, prints the messages in the
 * session.
 */
export const show = command({
  name: 'sessions show',
  takes: 'SESSION',
  options: {
    last: { type: 'string', value: 'N', help: 'Only the last N messages.' },
    request: { type: 'string', value: 'N', help: 'What the model saw in the Nth request.' },
    full: { type: 'boolean', help: 'Do not shorten long texts.' },
    json: { type: 'boolean', help: 'One JSON object per message.' },
    ...sessionOptions,
  },
  summary: 'Prints the log of a session, or its current messages if there is no log.',
  examples: [
    'x sessions show s-001 --last 20',
    'x sessions show s-001 --request 120',
    'x sessions show s-001 --json | jq .role',
  ],
  async run({ values, positionals: [sessionId = ''], output, errors }) {
    const last = values.last === undefined ? undefined : positive('last', values.last);
    const id = { ...scopeOf(values), sessionId };
    const found =
      values.request === undefined
        ? await findMessages(values, id, errors)
        : requestOf(await readEvents(values, id), positive('request', values.request)).messages;
    const messages: Message[] = [];
    for await (const message of found) {
      messages.push(message);
      if (last !== undefined && messages.length > last) messages.shift();
    }
    for (const message of messages) {
      output.write(
        values.json
          ? `${JSON.stringify(message)}\n`
          : `${printable(renderMessage(message, values.full ?? false))}\n\n`,
      );
    }
  },
});

async function findMessages(
  values: StoreValues,
  { sessionId, ...scope }: SessionKeyParts,
  errors: NodeJS.WritableStream,
): Promise<AsyncIterable<Message> | readonly Message[]> {
  // The log in the workspace can be read without the session, even if the session is deleted or damaged.
  const exact = await findLog(values, SessionKey.of({ ...scope, sessionId }));
  if (exact !== undefined && !namesStore(values)) return exact.read();
  return withStore(values, { readOnly: true }, async (store) => {
    const key = await findSession(store, scope, sessionId);
    const log = await findLog(values, key);
    if (log !== undefined && !namesStore(values)) return log.read();
    const session = await store.load(key);
    if (session === undefined) throw noSession(key);
    if (log !== undefined) return log.read();
    errors.write(
      `There is no log in ${values.workspace}, so these are the current messages. Set another folder with --workspace DIR.\n`,
    );
    return session.messages;
  });
}

/** Renders a message as text. */
export function renderMessage(message: Message, full: boolean): string {
  const cut = (text: string) =>
    full || text.length <= MAX_SHOWN ? text : `${headOf(text, MAX_SHOWN)} … (${text.length} characters)`;
  const kind = message.kind === undefined ? '' : ` (${message.kind})`;
  const calls = toolUsesOf(message).map(({ name, input }) => `→ ${name} ${cut(JSON.stringify(input))}`);
  const text = cut(textOf(message));
  return [`${message.createdAt}  ${message.role}${kind}`, ...(text === '' ? [] : [text]), ...calls].join(
    '\n',
  );
}
