const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Markup that is already escaped. */
export class Html {
  readonly markup: string;

  constructor(markup: string) {
    this.markup = markup;
  }
}

type Value = string | number | Html | readonly Html[] | undefined;

/** Builds markup from a template. Escapes every value except `Html`. */
export function html(strings: TemplateStringsArray, ...values: readonly Value[]): Html {
  return new Html(strings.reduce((text, part, index) => text + render(values[index - 1]) + part));
}

function render(value: Value): string {
  if (value === undefined) return '';
  if (value instanceof Html) return value.markup;
  if (typeof value === 'object') return value.map(({ markup }) => markup).join('');
  return String(value).replace(/[&<>"']/g, (character) => ESCAPES[character] ?? character);
}
