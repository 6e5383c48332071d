export { type TiktokenCounter, type TiktokenEncoding, tiktokenCounter } from './tiktoken-counter.js';
