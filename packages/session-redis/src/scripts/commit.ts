import { script } from './run-script.js';

/** The format of stored sessions. This release writes and reads no other. */
export const FORMAT = 1;

/**
 * Applies one change. Nothing is written before every check has passed, and Redis runs scripts atomically. Returns a word and a
 * number: `done` with the version of the change, or the reason why nothing was written.
 *
 * The operation's id makes a commit idempotent: if the connection breaks before the reply, a client sends the command again, and
 * the first one may have been applied. The last operation is stored in full, and the seven before it as eight characters each.
 *
 * All values that every commit changes are in one field, `state`: `<version> <messages> <bytes> <time> <operation> <earlier operations>`.
 *
 * Keys: session, messages, fence, lifetime, log, indexes. Values: `token <token>` or empty, operation, keep, lifetime, fence or empty,
 * member, head, description, messages.
 */
export const commitScript = script(`
local session, messages, lifetime = KEYS[1], KEYS[2], tonumber(ARGV[4])
local current = redis.call('HMGET', session, 'state', 'format', 'description')
local version, count, bytes, token, earlier =
  string.match(current[1] or '0 0 0 0  ', '^(%d+) (%d+) (%d+) %d+ (%S*) (%S*)$')
version, count, bytes = tonumber(version), tonumber(count), tonumber(bytes)
local operation, keep, size = ARGV[2], tonumber(ARGV[3]), #ARGV

local format = tonumber(current[2] or '0')
if (current[1] or current[2]) and format ~= ${FORMAT} then return {'format', current[2] or 0} end
if not version then return {'corrupt', 0} end
if token == operation then return {'done', version} end
local place = string.find(earlier, string.sub(operation, 1, 8), 1, true)
if place then return {'done', version - math.ceil((#earlier - place + 1) / 8)} end
if ARGV[5] ~= '' and redis.call('GET', KEYS[3]) ~= ARGV[5] then return {'lost', 0} end
if redis.call('LLEN', messages) ~= count then return {'corrupt', 0} end
if ARGV[1] ~= (current[1] and 'token ' .. token or '') then return {'conflict', version} end
if keep > count then return {'keep', count} end

if keep == 0 then
  bytes = 0
  if count > 0 then redis.call('UNLINK', messages) end
elseif keep < count then
  bytes = 0
  redis.call('LTRIM', messages, 0, keep - 1)
  for _, message in ipairs(redis.call('LRANGE', messages, 0, -1)) do bytes = bytes + #message end
end
-- Lua cannot unpack more than 8000 values at once.
for first = 9, size, 1000 do
  redis.call('RPUSH', messages, unpack(ARGV, first, math.min(first + 999, size)))
end
for number = 9, size do bytes = bytes + #ARGV[number] end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
earlier = string.sub(earlier .. string.sub(token, 1, 8), -56)
local state = table.concat({version + 1, keep + size - 8, bytes, now, operation, earlier}, ' ')
local fields = {'state', state, 'head', ARGV[7]}
local function add(name, value) fields[#fields + 1], fields[#fields + 2] = name, value end
if version == 0 then add('createdAt', now) end
if format ~= ${FORMAT} then add('format', ${FORMAT}) end
if current[3] ~= ARGV[8] then add('description', ARGV[8]) end
local mayEnd = lifetime > 0 or version == 0 or redis.call('PTTL', session) >= 0
redis.call('HSET', session, unpack(fields))
for number = 6, #KEYS do redis.call('ZADD', KEYS[number], now, ARGV[6]) end

if ARGV[5] ~= '' then
  if lifetime == 0 then redis.call('PERSIST', KEYS[3])
  elseif redis.call('PTTL', KEYS[3]) < lifetime then redis.call('PEXPIRE', KEYS[3], lifetime) end
end
-- If the session never had a lifetime, its keys have none to change.
if not mayEnd then return {'done', version + 1} end
for _, name in ipairs({session, messages, KEYS[5]}) do
  if lifetime > 0 then redis.call('PEXPIRE', name, lifetime) else redis.call('PERSIST', name) end
end
-- An index expires with the session that has the longest lifetime. Remove entries that are older than this lifetime.
local longest = redis.call('GET', KEYS[4])
if not longest or (longest ~= 'no' and (lifetime == 0 or tonumber(longest) < lifetime)) then
  longest = lifetime > 0 and ARGV[4] or 'no'
  redis.call('SET', KEYS[4], longest)
end
for number = 6, #KEYS do
  if longest == 'no' then
    redis.call('PERSIST', KEYS[number])
  else
    redis.call('PEXPIRE', KEYS[number], longest)
    if version == 0 then redis.call('ZREMRANGEBYSCORE', KEYS[number], '-inf', now - longest - 1) end
  end
end
if longest ~= 'no' then redis.call('PEXPIRE', KEYS[4], longest) end
return {'done', version + 1}
`);
