// Apart from the rest, because these load Vitest, which the programs that tests start cannot.
export { brokenServers } from './broken-servers.js';
export { chaosSuite } from './chaos-suite.js';
export { contentSuite } from './content-suite.js';
export { type Dialect, dialectSuite } from './dialect-suite.js';
export { expectStored } from './stored-files.js';
export { type StoredData, storedSuite } from './stored-suite.js';
