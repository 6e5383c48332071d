import { script } from './run-script.js';

/** Reads a session as of one moment. Keys: session, messages. Values: first and last message, fields. */
export const loadScript = script(`
return {redis.call('HMGET', KEYS[1], unpack(ARGV, 3)), redis.call('LRANGE', KEYS[2], ARGV[1], ARGV[2])}
`);

/**
 * Removes a session with its lease. Its log stays, as a file does: who moves a session to another store needs it. Returns how
 * much there was of the session.
 *
 * Keys: session, messages, lease, fence, lifetime, log, indexes. Values: member, \`token\` and the token that it must have, or
 * nothing, and \`any\`, or the one fence whose lease does not keep it.
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

/** Reads indexes, the newest first. Keys: indexes. Values: how many to leave out of each, and to read; the latest time of each. */
export const recentScript = script(`
local found = {}
for number, index in ipairs(KEYS) do
  found[number] =
    redis.call('ZREVRANGEBYSCORE', index, ARGV[number + 2], '-inf', 'WITHSCORES', 'LIMIT', ARGV[1], ARGV[2])
end
return found
`);

/**
 * Explains an entry of an index that does not fit what was read of its session. Returns `outdated` where the session has expired
 * or was committed to meanwhile, `sound` where it was begun again at that very time, and else `damaged`. One that has expired is
 * taken out of the indexes. A commit writes session and indexes together, so the times of a sound session are one.
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

/** Notes the name of a collection. Keys: names. Values: name. */
export const addNameScript = script(`return redis.call('SADD', KEYS[1], ARGV[1])`);

/** Keys: names. */
export const namesScript = script(`return redis.call('SMEMBERS', KEYS[1])`);
