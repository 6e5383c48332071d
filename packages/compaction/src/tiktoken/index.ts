export { tiktokenCounter } from './tiktoken-counter.js';
