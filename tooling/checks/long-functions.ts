import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { codeLines, sourceFiles } from './code-lines.js';
import type { Problem } from './problem.js';

/** Maximum number of code lines of a function without a reason. */
export const LONG = 60;

const REASON = /\/\/ Long because \S/;

/** Finds long functions whose body does not begin with the comment `// Long because <reason>`, and such comments in short ones. */
export function checkLongFunctions(root: string, files: readonly string[]): readonly Problem[] {
  return sourceFiles(files)
    .filter((file) => !file.endsWith('.css'))
    .flatMap((file) => inspectFunctions(file, readFileSync(join(root, file), 'utf8')));
}

/**
 * Inspects the functions of one file. Nested functions count as lines of the outer one, except for long functions with
 * their own reason.
 */
export function inspectFunctions(file: string, text: string): readonly Problem[] {
  const problems: Problem[] = [];
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest);
  /** Returns the number of lines in functions below the node that have a reason. */
  const visit = (node: ts.Node): number => {
    let excused = 0;
    ts.forEachChild(node, (child) => {
      excused += visit(child);
    });
    if (!ts.isFunctionLike(node) || !('body' in node) || node.body === undefined) return excused;
    const { body } = node;
    const [first = body] = ts.isBlock(body) ? body.statements : [];
    const start = first.getStart(source);
    const lines = codeLines(text.slice(start, ts.isBlock(body) ? body.end - 1 : body.end)) - excused;
    const hasReason = REASON.test(text.slice(body.pos, start));
    if (lines > LONG !== hasReason) {
      const line = source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1;
      const advice = hasReason
        ? 'which is not long; remove the comment "Long because"'
        : `more than ${LONG}; split it, or begin its body with "// Long because <reason>"`;
      problems.push({ file, line, message: `has a function of ${lines} code lines, ${advice}` });
    }
    return hasReason ? excused + lines : excused;
  };
  visit(source);
  return problems;
}
