import { cutMiddle } from '../conversation/text.js';
import type { Meter } from '../meter.js';
import { TakenText } from './taken-text.js';

/**
 * Hands out a budget of tokens share by share; what one taker leaves goes to those after it. Knows what was taken, so
 * that no name is paid for twice.
 */
export class Allotment {
  readonly #budget: number;
  readonly #meter: Meter;
  readonly #taken = new TakenText();
  #granted = 0;
  #spent = 0;

  constructor(budget: number, meter: Meter) {
    this.#budget = budget;
    this.#meter = meter;
  }

  /** One text, its middle cut where it is too long; empty when there is no room at all. */
  quote(share: number, title: string, text: string): string {
    const room = this.#grant(share);
    let cut = text;
    while (cut.length > 0 && this.#meter.text(`${title}: ${cut}`) > room) {
      cut = cutMiddle(text, Math.floor(cut.length * 0.8), ' … ');
    }
    if (cut) this.#take(cut, this.#meter.text(`\n${title}: ${cut}`));
    return cut;
  }

  /** Lines, from the first on, as many as fit. */
  lines(share: number, title: string, lines: readonly string[]): readonly string[] {
    return this.#choose(share, `\n${title}:`, lines, (line) => `\n- ${line}`, {});
  }

  /** Names, the first ones first, whatever was taken already; a long one may be passed over. */
  paths(share: number, title: string, paths: readonly string[]): readonly string[] {
    return this.#choose(share, `\n${title}:`, paths, (path) => `\n- ${path}: `, { passOver: true });
  }

  /** Names, the first ones first, without those that were taken already; a long one may be passed over. */
  names(share: number, title: string, names: readonly string[]): readonly string[] {
    return this.#choose(share, `\n${title}:`, names, (name) => ` ${name}`, {
      passOver: true,
      distinct: true,
    });
  }

  #choose(
    share: number,
    title: string,
    items: readonly string[],
    rendered: (item: string) => string,
    { passOver = false, distinct = false }: { readonly passOver?: boolean; readonly distinct?: boolean },
  ): readonly string[] {
    let room = this.#grant(share) - this.#meter.text(title);
    const chosen: string[] = [];
    for (const item of items) {
      if (room < 2) break;
      if (distinct && this.#taken.includes(item)) continue;
      const cost = this.#meter.text(rendered(item));
      if (cost > room) {
        if (passOver) continue;
        break;
      }
      room -= cost;
      this.#take(item, cost);
      chosen.push(item);
    }
    if (chosen.length > 0) this.#take('', this.#meter.text(title));
    return chosen;
  }

  #grant(share: number): number {
    this.#granted = Math.min(1, this.#granted + share);
    return Math.max(0, this.#budget * this.#granted - this.#spent);
  }

  #take(text: string, tokens: number): void {
    if (text) this.#taken.add(`\n${text}`);
    this.#spent += tokens;
  }
}
