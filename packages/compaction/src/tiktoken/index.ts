export { type TiktokenCounter, tiktokenCounter } from './tiktoken-counter.js';
