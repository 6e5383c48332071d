// Prints what departs from the repository's structure; exits 1 when anything does.
import { checkFileSizes } from './file-size.js';
import { checkForbiddenText } from './forbidden-text.js';
import { checkFragments } from './fragment.js';
import { checkShapes } from './member-shape.js';
import { report } from './problem.js';
import { repository } from './workspace.js';

report([
  ...checkShapes(repository),
  ...checkFileSizes(repository),
  ...checkFragments(repository),
  ...checkForbiddenText(repository),
]);
