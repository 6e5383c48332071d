// Prints the code lines of each group, and violations of the repository's structure. Exits with 1 if there are any.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkBudget } from './code-lines.js';
import { checkDependencyRule } from './dependency-rule.js';
import { checkExports } from './exports.js';
import { checkExpressions } from './expressions.js';
import { checkForbiddenText } from './forbidden-text.js';
import { checkLinks } from './links.js';
import { checkLongFunctions } from './long-functions.js';
import { checkShapes } from './member-shape.js';
import { checkMentions } from './mentions.js';
import { report } from './problem.js';
import { repository, trackedFiles } from './workspace.js';

const files = trackedFiles(repository);
const budget = JSON.parse(readFileSync(join(repository, 'tooling/budget.json'), 'utf8'));

report([
  ...checkShapes(repository),
  ...checkDependencyRule(repository),
  ...checkBudget(repository, files, budget),
  ...checkLongFunctions(repository, files),
  ...checkExpressions(repository, files),
  ...checkForbiddenText(repository, files),
  ...checkMentions(repository),
  ...checkLinks(repository),
  ...checkExports(repository),
]);
