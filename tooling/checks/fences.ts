import type { Problem } from './problem.js';

/** A piece of TypeScript in a Markdown file. */
export interface Fence {
  readonly file: string;
  /** The line of the code's first line, from 1. */
  readonly line: number;
  readonly code: string;
  /** Whether it must also run. */
  readonly run: boolean;
  /** What it must print then, `…` for anything: the text of the fence ` ```text output ` behind it. */
  output?: string;
}

const opening = /^([\s>]*)(`{3,}|~{3,})\s*(.*?)\s*$/;

/** A line of a Markdown text outside the marks of fences. */
interface Line {
  /** From 1. */
  readonly line: number;
  readonly text: string;
  /** The language of the fence that the line is in. */
  readonly fence: string | undefined;
  /** What a shell gets of the line, without a comment, if it is in a fence for a shell or code because it is indented. */
  readonly typed: string | undefined;
}

export function linesOf(markdown: string): readonly Line[] {
  let fence: string | undefined;
  return markdown.split('\n').flatMap((text, index) => {
    const [, language] = /^```(\S*)/.exec(text) ?? [];
    if (language !== undefined) {
      fence = fence === undefined ? language : undefined;
      return [];
    }
    const isTyped = fence === 'sh' || (fence === undefined && text.startsWith('    '));
    const typed = isTyped ? text.trim().replace(/\s+#\s.*$/, '') : undefined;
    return [{ line: index + 1, text, fence, typed }];
  });
}

/**
 * Finds every TypeScript fence of a Markdown text: ` ```ts ` is to compile, ` ```ts run ` is to run as well, and
 * ` ```ts no-check: reason ` is left alone. A fence ` ```text output ` holds what the code before it prints, with `…` for anything; a guide's code that prints must have one. Any other word after the language is a problem, so that a slip of the pen
 * does not take code out of the check.
 */
export function extractFences(
  file: string,
  markdown: string,
): { readonly fences: readonly Fence[]; readonly problems: readonly Problem[] } {
  const fences: Fence[] = [];
  const problems: Problem[] = [];
  const lines = markdown.split(/\r?\n/);
  for (let index = 0; index < lines.length; index++) {
    const [, prefix, marker, information] = opening.exec(lines[index] ?? '') ?? [];
    if (prefix === undefined || marker === undefined || information === undefined) continue;
    const start = index + 1;
    const end = closingLine(lines, start, marker);
    index = end;
    const [language, ...words] = information.split(/\s+/);
    if (information === 'text output') {
      const printed = lines.slice(start, end).map((line) => withoutPrefix(line, prefix));
      const last = fences.at(-1);
      if (last?.run) last.output = `${printed.join('\n')}\n`;
      else problems.push({ file, line: start, message: 'no code that runs stands before this output' });
      continue;
    }
    if (language === undefined || !/^(ts|tsx|typescript)$/i.test(language)) continue;
    const instruction = words.join(' ');
    if (/^no-check: \S/.test(instruction)) continue;
    if (instruction !== '' && instruction !== 'run') {
      const message = `unknown instruction "${instruction}"; write "run", "no-check: <the reason>" or nothing`;
      problems.push({ file, line: start, message });
      continue;
    }
    const code = lines.slice(start, end).map((line) => withoutPrefix(line, prefix));
    fences.push({ file, line: start + 1, code: `${code.join('\n')}\n`, run: instruction === 'run' });
  }
  return { fences, problems };
}

/** A fence ends at a marker of its own kind that is at least as long, or with the file. */
function closingLine(lines: readonly string[], start: number, marker: string): number {
  const closes = (line: string) => {
    const text = line.replace(/^[\s>]*/, '').trimEnd();
    return text.length >= marker.length && text === (marker[0] ?? '').repeat(text.length);
  };
  const found = lines.findIndex((line, index) => index >= start && closes(line));
  return found === -1 ? lines.length : found;
}

function withoutPrefix(line: string, prefix: string): string {
  if (line.startsWith(prefix)) return line.slice(prefix.length);
  // An empty line of a quotation ends with its mark.
  return line.startsWith(prefix.trimEnd())
    ? line.slice(prefix.trimEnd().length).trimStart()
    : line.trimStart();
}
