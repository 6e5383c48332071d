import { cutMiddle } from '../cut-middle.js';
import type { Meter } from '../meter.js';

/** A text that fills section by section, each within its share of what the page may hold. */
export class Page {
  readonly #budget: number;
  readonly #meter: Meter;
  #granted = 0;
  #text = '';
  #spent = 0;

  /** @param budget Tokens that the page may hold. */
  constructor(budget: number, meter: Meter) {
    this.#budget = budget;
    this.#meter = meter;
  }

  get text(): string {
    return this.#text;
  }

  /** One text, its middle cut where it is too long. */
  quote(title: string, text: string, share: number): void {
    const room = this.#grant(share);
    let cut = text;
    while (cut.length > 0 && this.#meter.text(`${title}: ${cut}`) > room) {
      cut = cutMiddle(text, Math.floor(cut.length * 0.8), ' … ');
    }
    if (cut) this.#add(`${title}: ${cut}`);
  }

  /** Lines, from the first on, as many as fit. */
  list(title: string, lines: readonly string[], share: number): void {
    let room = this.#grant(share) - this.#meter.text(`${title}:\n`);
    const chosen: string[] = [];
    for (const line of lines) {
      room -= this.#meter.text(`\n- ${line}`);
      if (room < 0) break;
      chosen.push(`\n- ${line}`);
    }
    if (chosen.length > 0) this.#add(`${title}:${chosen.join('')}`);
  }

  /** Names on one line, the first ones first, without those that the page holds already; a long one may be left out. */
  names(title: string, names: readonly string[], separator: string, share: number): void {
    let room = this.#grant(share) - this.#meter.text(`${title}: `);
    let written = this.#text;
    const chosen: string[] = [];
    for (const name of names) {
      if (room < 2) break;
      if (written.includes(name)) continue;
      const cost = this.#meter.text(separator + name);
      if (cost > room) continue;
      room -= cost;
      chosen.push(name);
      written += `\n${name}`;
    }
    if (chosen.length > 0) this.#add(`${title}: ${chosen.join(separator)}`);
  }

  /** Tokens for the next section: its share, and what earlier sections left of theirs. */
  #grant(share: number): number {
    this.#granted = Math.min(1, this.#granted + share);
    return Math.max(0, this.#budget * this.#granted - this.#spent);
  }

  #add(section: string): void {
    this.#text = this.#text ? `${this.#text}\n${section}` : section;
    this.#spent = this.#meter.text(this.#text);
  }
}
