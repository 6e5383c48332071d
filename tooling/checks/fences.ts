import type { Problem } from './problem.js';

/** A piece of TypeScript in a Markdown file. */
export interface Fence {
  readonly file: string;
  /** The line of the code's first line, from 1. */
  readonly line: number;
  readonly code: string;
  /** Whether the code is also run. */
  readonly run: boolean;
  /** Expected output of the code, from the fence ` ```text output ` that follows. `…` matches any text. */
  output?: string;
}

const opening = /^([\s>]*)(`{3,}|~{3,})\s*(.*?)\s*$/;

/** A line of a Markdown text, except for the markers of fences. */
interface Line {
  /** Line number, from 1. */
  readonly line: number;
  readonly text: string;
  /** The language of the fence that the line is in. */
  readonly fence: string | undefined;
  /** The shell command in the line, without its comment. Set for lines of `sh` fences and for indented code. */
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
 * Finds the TypeScript fences of a Markdown text: ` ```ts ` must compile, ` ```ts run ` must also run, and ` ```ts no-check: reason ` is
 * skipped. A fence ` ```text output ` contains the output of the code before it, in which `…` matches any text. A guide's code that prints
 * something must have one. Any other word after the language is a problem, so that a typo does not disable the check.
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
      else problems.push({ file, line: start, message: 'there is no code with "run" before this output' });
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

/** Returns the line that closes a fence: a marker of the same kind that is at least as long, or the end of the file. */
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
