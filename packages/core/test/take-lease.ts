// A dependency on @x/testkit would be a cycle, because the testkit depends on this package. An import of its source is not.
export { takeLease } from '../../testkit/src/take-lease.js';
