import { cutMiddle } from '../cut-middle.js';
import type { Meter } from '../meter.js';
import { rankMentions } from './fold-ledger.js';
import type { Ledger } from './ledger.js';

/** Shares of the budget; what a section does not use goes to those after it. */
const SHARES = { request: 0.25, requests: 0.15, files: 0.25, errors: 0.08, commands: 0.12, decisions: 0.08 };

/** The ledger as text of at most `budget` tokens, what matters most first. Empty when there is nothing to say. */
export function renderLedger(ledger: Ledger, budget: number, meter: Meter): string {
  const [first, ...later] = ledger.requests;
  const page = new Page(budget, meter);
  if (first) page.quote('First request', first.text, SHARES.request);
  page.list(
    'Requests since',
    later.toReversed().map(({ text, done }) => `${done ? '' : '(open) '}${text}`),
    SHARES.requests,
  );
  const files = ledger.files.toReversed();
  page.inline(
    'Files changed',
    files.filter((file) => file.changed).map((file) => file.path),
    SHARES.files,
  );
  page.inline(
    'Files read',
    files.filter((file) => !file.changed).map((file) => file.path),
    SHARES.files / 2,
  );
  page.list(
    'Errors',
    ledger.errors.toReversed().map((error) => error.text),
    SHARES.errors,
  );
  page.list(
    'Commands',
    ledger.commands.toReversed().map(({ command, outcome }) => `${command} → ${outcome}`),
    SHARES.commands,
  );
  page.list(
    'Stated',
    ledger.decisions.toReversed().map((decision) => decision.text),
    SHARES.decisions,
  );
  page.inline(
    'Names',
    rankMentions(ledger.mentions, ledger.messages).map((mention) => mention.token),
    1,
  );
  return page.text();
}

/** Fills a text section by section, each within its share of what the page may hold. */
class Page {
  readonly #budget: number;
  readonly #meter: Meter;
  #left: number;
  #shared = 0;
  #text = '';

  constructor(budget: number, meter: Meter) {
    this.#budget = budget;
    this.#left = budget;
    this.#meter = meter;
  }

  text(): string {
    return this.#text;
  }

  /** One text, its middle cut where it is too long. */
  quote(title: string, text: string, share: number): void {
    const room = this.#open(share);
    let cut = text;
    while (cut.length > 0 && this.#meter.text(`${title}: ${cut}`) > room) {
      cut = cutMiddle(text, Math.floor(cut.length * 0.8), ' … ');
    }
    if (cut) this.#add(`${title}: ${cut}`);
  }

  /** Lines, the first ones first, as many as fit. */
  list(title: string, lines: readonly string[], share: number): void {
    this.#fill(title, lines, '\n- ', share);
  }

  /** Names on one line, without those that the page holds already. */
  inline(title: string, names: readonly string[], share: number): void {
    this.#fill(title, names, ', ', share);
  }

  #fill(title: string, items: readonly string[], separator: string, share: number): void {
    let room = this.#open(share) - this.#meter.text(`${title}:\n`);
    const chosen: string[] = [];
    let written = this.#text;
    for (const item of items) {
      if (separator === ', ' && written.includes(item)) continue;
      const cost = this.#meter.text(separator + item);
      if (cost > room) {
        // A shorter name may still fit; a list stays a list of the newest.
        if (separator === ', ' && room > 4) continue;
        break;
      }
      room -= cost;
      chosen.push(item);
      written += `\n${item}`;
    }
    if (chosen.length === 0) return;
    this.#add(separator === ', ' ? `${title}: ${chosen.join(', ')}` : `${title}:\n- ${chosen.join('\n- ')}`);
  }

  #open(share: number): number {
    this.#shared = Math.min(1, this.#shared + share);
    const spent = this.#budget - this.#left;
    return Math.max(0, this.#budget * this.#shared - spent);
  }

  #add(section: string): void {
    this.#text = this.#text ? `${this.#text}\n${section}` : section;
    this.#left = this.#budget - this.#meter.text(this.#text);
  }
}
