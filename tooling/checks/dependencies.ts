// Prints every breach of the dependency rule; exits 1 when there is one.
import { checkDependencyRule } from './dependency-rule.js';
import { report } from './problem.js';
import { repository } from './workspace.js';

report(checkDependencyRule(repository));
