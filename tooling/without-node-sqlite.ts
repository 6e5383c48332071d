import { it } from 'vitest';

it(`runs the suites of SQLite`, ({ skip }) =>
  skip(
    `Node ${process.versions.node} has no node:sqlite with full-text search; Node 22.16 and newer run them`,
  ));
