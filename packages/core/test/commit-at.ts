// A dependency on @x/testkit would be a cycle, because the testkit depends on this package. An import of its source is not.
export { commitAt } from '../../testkit/src/commit-at.js';
