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

/** A line of a Markdown text. */
export interface Line {
  /** Line number, from 1. */
  readonly line: number;
  readonly text: string;
}

/** A fenced block of a Markdown text. */
interface Block {
  /** The text after the opening marker, such as `ts run`. */
  readonly information: string;
  /** The content, without the indentation of the opening marker. */
  readonly lines: Line[];
  /** The line of the opening marker, from 1. */
  readonly line: number;
}

const OPENING = /^(\s*)(`{3,})\s*(.*?)\s*$/;

/** Splits a Markdown text into its fenced blocks and the lines outside of them. */
export function parseMarkdown(markdown: string): {
  readonly prose: readonly Line[];
  readonly blocks: readonly Block[];
} {
  const prose: Line[] = [];
  const blocks: Block[] = [];
  let open: { readonly indent: string; readonly marker: string; readonly block: Block } | undefined;
  for (const [index, text] of markdown.split(/\r?\n/).entries()) {
    const line = index + 1;
    const [, indent = '', marker, information = ''] = OPENING.exec(text) ?? [];
    if (open !== undefined) {
      // The closing marker is at least as long as the opening one.
      if (/^`+$/.test(text.trim()) && text.trim().length >= open.marker.length) open = undefined;
      else
        open.block.lines.push({
          line,
          text: text.startsWith(open.indent) ? text.slice(open.indent.length) : text.trimStart(),
        });
    } else if (marker === undefined) prose.push({ line, text });
    else {
      open = { indent, marker, block: { information, line, lines: [] } };
      blocks.push(open.block);
    }
  }
  return { prose, blocks };
}

/** Returns the shell commands of a Markdown text without their comments: the lines of `sh` fences and of indented code. */
export function commandsOf(markdown: string): readonly Line[] {
  const { prose, blocks } = parseMarkdown(markdown);
  return [
    ...prose.filter(isIndented),
    ...blocks.filter(({ information }) => information === 'sh').flatMap(({ lines }) => lines),
  ]
    .map(({ line, text }) => ({ line, text: text.trim().replace(/\s+#\s.*$/, '') }))
    .toSorted((left, right) => left.line - right.line);
}

/** Tests if a line outside of fences is code because of its indentation. */
export function isIndented({ text }: Line): boolean {
  return text.startsWith('    ');
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
  for (const { information, line, lines } of parseMarkdown(markdown).blocks) {
    const content = lines.map(({ text }) => `${text}\n`).join('');
    const [language = '', ...words] = information.split(/\s+/);
    const instruction = words.join(' ');
    if (information === 'text output') {
      const last = fences.at(-1);
      if (last?.run) last.output = content;
      else problems.push({ file, line, message: 'there is no code with "run" before this output' });
    }
    if (!/^(ts|tsx|typescript)$/i.test(language) || /^no-check: \S/.test(instruction)) continue;
    if (instruction === '' || instruction === 'run')
      fences.push({ file, line: line + 1, code: content, run: instruction === 'run' });
    else {
      const message = `unknown instruction "${instruction}"; write "run", "no-check: <the reason>" or nothing`;
      problems.push({ file, line, message });
    }
  }
  return { fences, problems };
}
