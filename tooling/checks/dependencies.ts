// Prints every violation of the dependency rule. Exits with 1 if there is one.
import { checkDependencyRule } from './dependency-rule.js';
import { report } from './problem.js';
import { repository } from './workspace.js';

report(checkDependencyRule(repository));
