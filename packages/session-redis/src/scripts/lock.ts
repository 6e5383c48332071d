import { script } from './script.js';

/** Takes a lock that is free. Keys: lock. Values: holder, milliseconds. Answers whether it did. */
export const takeLockScript = script(`
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
`);

/** Begins a lock's time anew. Keys: lock. Values: holder, milliseconds. Answers whether it was held still. */
export const keepLockScript = script(`
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
`);
