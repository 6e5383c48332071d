import { script } from './run-script.js';

/** Reads a session as one snapshot. Keys: session, messages. Values: first and last message, fields. */
export const loadScript = script(`
return {redis.call('HMGET', KEYS[1], unpack(ARGV, 3)), redis.call('LRANGE', KEYS[2], ARGV[1], ARGV[2])}
`);

/**
 * Deletes a session with its lease, and returns the number of deleted keys of the session. Its log stays, because a session that
 * moves to another store still needs it.
 *
 * Keys: session, messages, lease, fence, lifetime, log, indexes. Values: member; \`token <token>\` or empty; \`any\`, or the only
 * fence whose lease does not prevent the deletion.
 */
export const deleteScript = script(`
if ARGV[3] ~= 'any' and redis.call('EXISTS', KEYS[3]) == 1 and redis.call('GET', KEYS[4]) ~= ARGV[3] then return 0 end
if ARGV[2] ~= '' then
  local state = redis.call('HGET', KEYS[1], 'state') or ''
  local token = string.match(state, '^%d+ %d+ %d+ %d+ (%S*)')
  if not token or 'token ' .. token ~= ARGV[2] then return 0 end
end
local removed = redis.call('UNLINK', KEYS[1], KEYS[2])
redis.call('UNLINK', KEYS[3], KEYS[4])
redis.call('PERSIST', KEYS[6])
for number = 7, #KEYS do redis.call('ZREM', KEYS[number], ARGV[1]) end
if redis.call('EXISTS', KEYS[7]) == 0 then redis.call('UNLINK', KEYS[5]) end
return removed
`);

/** Reads indexes, newest first. Keys: indexes. Values: number of entries to skip and to read per index; the latest time per index. */
export const recentScript = script(`
local found = {}
for number, index in ipairs(KEYS) do
  found[number] =
    redis.call('ZREVRANGEBYSCORE', index, ARGV[number + 2], '-inf', 'WITHSCORES', 'LIMIT', ARGV[1], ARGV[2])
end
return found
`);

/**
 * Explains an index entry that does not match its session. Returns `outdated` if the session has expired or was committed to in the
 * meantime, `sound` if it was started again at that very time, and `damaged` otherwise. Removes expired sessions from the indexes. A
 * commit writes session and indexes together, so a sound session has the same time everywhere.
 *
 * Keys: session, messages, indexes. Values: member, time of the entry.
 */
export const outdatedScript = script(`
if redis.call('EXISTS', KEYS[1], KEYS[2]) == 0 then
  for number = 3, #KEYS do redis.call('ZREM', KEYS[number], ARGV[1]) end
  return 'outdated'
end
local state = redis.call('HGET', KEYS[1], 'state') or ''
local time = tonumber(string.match(state, '^%d+ %d+ %d+ (%d+) %S* %S*$') or '')
if not time then return 'damaged' end
for number = 3, #KEYS do
  if tonumber(redis.call('ZSCORE', KEYS[number], ARGV[1]) or '') ~= time then return 'damaged' end
end
return time == tonumber(ARGV[2]) and 'sound' or 'outdated'
`);

/** Stores the name of a collection. Keys: names. Values: name. */
export const addNameScript = script(`return redis.call('SADD', KEYS[1], ARGV[1])`);

/** Returns the names of collections. Keys: names. */
export const namesScript = script(`return redis.call('SMEMBERS', KEYS[1])`);
