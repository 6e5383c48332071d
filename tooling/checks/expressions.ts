import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type AST, RegExpParser, visitRegExpAST } from '@eslint-community/regexpp';
import { getFirstConsumedChar } from 'regexp-ast-analysis';
import { analyse } from 'scslre';
import ts from 'typescript';
import { sourceFiles } from './code-lines.js';
import type { Problem } from './problem.js';

const REASON = /Bounded because \S/;

/** Finds regular expressions of products whose time grows faster than the text, unless a comment says `Bounded because <reason>`. */
export function checkExpressions(root: string, files: readonly string[]): readonly Problem[] {
  return sourceFiles(files)
    .filter((file) => /^(?:packages|apps\/(?:cli|demo))\/.*\.tsx?$/.test(file))
    .flatMap((file) => inspectExpressions(file, readFileSync(join(root, file), 'utf8')));
}

/** Inspects the regular expressions of one file. A reason must be in a comment on the statement that contains the expression. */
export function inspectExpressions(file: string, text: string): readonly Problem[] {
  const problems: Problem[] = [];
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest);
  const visit = (node: ts.Node, comment: number): void => {
    const start = ts.isStatement(node) ? node.pos : comment;
    ts.forEachChild(node, (child) => visit(child, start));
    if (!ts.isRegularExpressionLiteral(node)) return;
    const hasReason = REASON.test(text.slice(start, node.getStart(source)));
    if (hasReason || !isSlow(new RegExpParser().parseLiteral(node.text))) return;
    const line = source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1;
    const advice = 'rewrite it without ambiguity, or add a comment "Bounded because <reason>"';
    problems.push({
      file,
      line,
      message: `contains ${node.text}, whose matching time grows faster than the text; ${advice}`,
    });
  };
  visit(source, 0);
  return problems;
}

/** Tests if two quantifiers can match the same text, or two alternatives of a repeated group can begin with the same character. */
function isSlow(literal: AST.RegExpLiteral): boolean {
  let isAmbiguous = false;
  visitRegExpAST(literal, {
    onQuantifierEnter({ max, element }) {
      if (max < 10 || !('alternatives' in element)) return;
      const starts = element.alternatives.map(
        (each) => getFirstConsumedChar(each, 'ltr', literal.flags).char,
      );
      isAmbiguous ||= starts.some((start, at) =>
        starts.slice(0, at).some((other) => !other.isDisjointWith(start)),
      );
    },
  });
  return isAmbiguous || analyse(literal).reports.length > 0;
}
