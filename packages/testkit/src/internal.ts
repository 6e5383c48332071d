// Exports for the packages of this repository. They are unsupported: any release may change or remove them.
export { expectStored } from './stored-files.js';
