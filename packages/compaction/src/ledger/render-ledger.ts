import type { Meter } from '../meter.js';
import { Allotment } from './allotment.js';
import type { Ledger } from './ledger.js';
import { rankMentions } from './rank-mentions.js';

/** How much of a ledger the first request may fill; a longer one is quoted in part. */
export const FIRST_REQUEST_SHARE = 0.17;

/** Shares of the budget; what a section does not use goes to those after it, and the rest to the names. */
const SHARES = {
  request: FIRST_REQUEST_SHARE,
  requests: 0.1,
  changed: 0.07,
  read: 0.03,
  errors: 0.03,
  commands: 0.04,
  decisions: 0.03,
  names: 1,
};

/** What names that belong to no file of the ledger are headed by. */
const OTHERS = { path: 'Other paths', identifier: 'Other names', id: 'Ids and numbers' };

/**
 * The ledger as text of at most `budget` tokens, newest first within each section. Empty when there is nothing to say.
 *
 * @param holdsFirst Whether the oldest request in it is the first of the conversation, to be quoted at length.
 */
export function renderLedger(ledger: Ledger, budget: number, meter: Meter, holdsFirst = true): string {
  const allotment = new Allotment(budget, meter);
  const first = holdsFirst ? ledger.requests[0] : undefined;
  const later = ledger.requests.slice(first ? 1 : 0);
  const request = first ? allotment.quote(SHARES.request, 'First request', first.text) : '';
  const requests = allotment.lines(
    SHARES.requests,
    'Requests since',
    later.toReversed().map(({ text, done }) => indented(done ? text : `(open) ${text}`)),
  );

  const files = ledger.files.toReversed();
  const paths = (changed: boolean) =>
    files.filter((file) => file.changed === changed).map((file) => file.path);
  const changed = allotment.paths(SHARES.changed, 'Files changed', paths(true));
  const read = allotment.paths(SHARES.read, 'Files read', paths(false));

  const textsOf = (entries: readonly { readonly text: string }[]) =>
    entries.toReversed().map(({ text }) => text);
  const errors = allotment.lines(SHARES.errors, 'Errors, as tools printed them', textsOf(ledger.errors));
  const commands = allotment.lines(
    SHARES.commands,
    'Commands',
    ledger.commands.toReversed().map(({ command, outcome }) => `${command} → ${outcome}`),
  );
  const stated = allotment.lines(SHARES.decisions, 'Stated by the assistant', textsOf(ledger.decisions));

  const ranked = rankMentions(ledger.mentions, ledger.messages);
  const tokens = ranked.map(({ token }) => token);
  const chosen = new Set(allotment.names(SHARES.names, Object.values(OTHERS).join(': '), tokens));
  const shown = new Set([...changed, ...read]);
  const namesIn = new Map<string, string[]>([...shown].map((path) => [path, []]));
  const others = { path: [] as string[], identifier: [] as string[], id: [] as string[] };
  for (const { token, kind, file } of ranked) {
    if (chosen.has(token)) (namesIn.get(file ?? '') ?? others[kind]).push(token);
  }
  const withNames = (path: string) => {
    const names = namesIn.get(path) ?? [];
    return names.length > 0 ? `${path}: ${names.join(' ')}` : path;
  };

  return [
    request && `First request: ${request}`,
    section('Requests since', requests),
    section('Files changed, with names in them', changed.map(withNames)),
    section('Files read, with names in them', read.map(withNames)),
    section('Errors, as tools printed them', errors),
    section('Commands', commands),
    section('Stated by the assistant', stated),
    ...(['path', 'identifier', 'id'] as const).map(
      (kind) => others[kind].length > 0 && `${OTHERS[kind]}: ${others[kind].join(' ')}`,
    ),
  ]
    .filter(Boolean)
    .join('\n');
}

/** The lines behind the first one belong to the same item of a list. */
function indented(text: string): string {
  return text.replaceAll(/\n\s*/g, '\n  ');
}

function section(title: string, lines: readonly string[]): string {
  return lines.length > 0 ? `${title}:\n- ${lines.join('\n- ')}` : '';
}
