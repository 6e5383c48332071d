import { Lexer, type Token } from 'marked';
import { PLAIN, type Style } from './style.js';

/** Formats of parts of a line, by their type. */
const FORMATS: Readonly<Record<string, Parameters<Style>[0]>> = {
  strong: 'bold',
  em: 'italic',
  codespan: 'cyan',
};

/** Matches a character that may begin or end a format. */
const MARK = /[!*<[_`~]/;
/** Maximum UTF-16 units and marks of a line that is formatted. The time to parse a line grows with the square of both. */
const [MAX_LINE, MAX_MARKS] = [1_000, 60];

/** Returns a function that formats the lines of one answer, in their order. Without colors, Markdown stays as it is. */
export function markdownLines(style: Style): (line: string) => string {
  let isCode = false;
  const inline = (tokens: readonly Token[] = []): string =>
    tokens
      .map((token) => {
        const format = FORMATS[token.type];
        if (format === undefined) return token.raw;
        return style(format, 'tokens' in token ? inline(token.tokens) : 'text' in token ? token.text : '');
      })
      .join('');
  return (line) => {
    if (style === PLAIN) return line;
    const isFence = line.trimStart().startsWith('```');
    if (isFence) isCode = !isCode;
    if (isFence || isCode) return style('cyan', line);
    if (line.length > MAX_LINE || line.split(MARK).length > MAX_MARKS + 1) return line;
    const [heading = ''] = /^#{1,6} /.exec(line) ?? [];
    const text = inline(Lexer.lexInline(line.slice(heading.length)));
    return heading === '' ? text : style('bold', text);
  };
}
