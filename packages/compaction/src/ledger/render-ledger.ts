import type { Meter } from '../meter.js';
import type { Ledger } from './ledger.js';
import { Page } from './page.js';
import { rankMentions } from './rank-mentions.js';

/** Shares of the budget; what a section does not use goes to those after it, and the rest to the names. */
const SHARES = {
  request: 0.18,
  requests: 0.12,
  changed: 0.12,
  read: 0.05,
  errors: 0.05,
  commands: 0.06,
  decisions: 0.04,
  names: 1,
};

/** The ledger as text of at most `budget` tokens, newest first within each section. Empty when there is nothing to say. */
export function renderLedger(ledger: Ledger, budget: number, meter: Meter): string {
  const page = new Page(budget, meter);
  const [first, ...later] = ledger.requests;
  if (first) page.quote('First request', first.text, SHARES.request);
  const requests = later.toReversed().map(({ text, done }) => (done ? text : `(open) ${text}`));
  page.list('Requests since', requests, SHARES.requests);

  const files = ledger.files.toReversed();
  const paths = (changed: boolean) =>
    files.filter((file) => file.changed === changed).map((file) => file.path);
  page.names('Files changed', paths(true), ', ', SHARES.changed);
  page.names('Files read', paths(false), ', ', SHARES.read);

  const textsOf = (entries: readonly { readonly text: string }[]) =>
    entries.toReversed().map(({ text }) => text);
  page.list('Errors', textsOf(ledger.errors), SHARES.errors);
  const commands = ledger.commands.toReversed().map(({ command, outcome }) => `${command} → ${outcome}`);
  page.list('Commands', commands, SHARES.commands);
  page.list('Stated', textsOf(ledger.decisions), SHARES.decisions);

  const names = rankMentions(ledger.mentions, ledger.messages).map(({ token }) => token);
  page.names('Names', names, ' ', SHARES.names);
  return page.text;
}
