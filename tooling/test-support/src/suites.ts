// A separate entry, because these modules load Vitest, which child processes of tests cannot load.
export { brokenServers } from './broken-servers.js';
export { chaosSuite } from './chaos-suite.js';
export { contentSuite } from './content-suite.js';
export { type Dialect, dialectSuite } from './dialect-suite.js';
export { expectStored } from './stored-files.js';
export { type StoredData, storedSuite } from './stored-suite.js';
