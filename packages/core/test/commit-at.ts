// @x/testkit stands on this package: a dependency on it would be a cycle, its source is not.
export { commitAt } from '../../testkit/src/commit-at.js';
