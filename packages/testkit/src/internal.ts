// What only the packages of this repository use. It is unsupported: any release may change or remove it.
export { expectStored } from './stored-files.js';
