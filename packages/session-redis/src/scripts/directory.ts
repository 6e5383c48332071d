import { script } from './script.js';

/** Marks a shard as listed for a day, unless the directory has let go of it since this operation began to list it. */
export const confirmListedScript = script(`
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('SET', KEYS[1], 'yes', 'EX', 86400) end
`);

/** Takes a shard's mark, or the operation in its place, away. */
export const unmarkScript = script(`
return redis.call('DEL', KEYS[1])
`);

/** Begins to list a shard that has sessions after all; answers whether it has. */
export const relistScript = script(`
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
redis.call('SET', KEYS[2], ARGV[1], 'EX', 60)
return 1
`);

export const addEntriesScript = script(`
for _, entry in ipairs(ARGV) do redis.call('ZADD', KEYS[1], 0, entry) end
`);

export const removeEntriesScript = script(`
return redis.call('ZREM', KEYS[1], unpack(ARGV))
`);

/** Entries from the first value to the second, as many as the third says. */
export const entriesScript = script(`
return redis.call('ZRANGEBYLEX', KEYS[1], ARGV[1], ARGV[2], 'LIMIT', 0, ARGV[3])
`);
