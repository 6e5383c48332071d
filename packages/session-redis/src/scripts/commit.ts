import { script } from './script.js';

/** The format that this release writes, and the newest that it reads. Sessions without one are of format 1. */
export const FORMAT = 2;

/**
 * Applies one change. Nothing is written before every check has passed, and Redis runs a script whole or not at all.
 * Answers a word and a number: `done` or, where the client is to list the shard, `list` with the version that the change
 * made; or why nothing was done.
 *
 * The operation's id makes a commit idempotent: clients send a command again when the connection broke before the
 * reply, and the first one may have been applied. Of the seven before the last, eight characters are kept.
 *
 * Keys: session, messages, index, listed, and the fence's where there is one. Values: token or nothing, operation, keep,
 * lifetime, fence or nothing, member, head, messages.
 */
export const commitScript = script(`
local session, messages, lifetime = KEYS[1], KEYS[2], tonumber(ARGV[4])
local current = redis.call('HMGET', session, 'version', 'count', 'operation', 'expires', 'earlier', 'format')
local version, count, expires = tonumber(current[1] or '0'), tonumber(current[2] or '0'), current[4]
local token, earlier = current[3] or '', current[5] or ''
local operation, keep, size = ARGV[2], tonumber(ARGV[3]), #ARGV

if token == operation then
  if redis.call('GET', KEYS[4]) == operation then return {'list', version} end
  return {'done', version}
end
local place = string.find(earlier, string.sub(operation, 1, 8), 1, true)
if place then return {'done', version - math.ceil((#earlier - place + 1) / 8)} end
if tonumber(current[6] or '1') > ${FORMAT} then return {'newer', tonumber(current[6])} end
if ARGV[5] ~= '' and redis.call('GET', KEYS[5]) ~= ARGV[5] then return {'lost', 0} end
if redis.call('LLEN', messages) ~= count then return {'corrupt', 0} end
if ARGV[1] ~= token then return {'conflict', version} end
if keep > count then return {'keep', count} end

if keep == 0 then
  if count > 0 then redis.call('UNLINK', messages) end
elseif keep < count then
  redis.call('LTRIM', messages, 0, keep - 1)
end
-- Lua cannot unpack more than 8000 values at once.
for first = 8, size, 1000 do
  redis.call('RPUSH', messages, unpack(ARGV, first, math.min(first + 999, size)))
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('HSET', session, 'version', version + 1, 'count', keep + size - 7, 'updatedAt', now,
  'operation', operation, 'earlier', string.sub(earlier .. string.sub(token, 1, 8), -56), 'format', ${FORMAT},
  'head', ARGV[7])

if lifetime > 0 then
  redis.call('PEXPIRE', session, lifetime)
  redis.call('PEXPIRE', messages, lifetime)
  if ARGV[5] ~= '' and redis.call('PTTL', KEYS[5]) < lifetime then redis.call('PEXPIRE', KEYS[5], lifetime) end
elseif expires ~= 'no' then
  redis.call('PERSIST', session)
  redis.call('PERSIST', messages)
  if ARGV[5] ~= '' then redis.call('PERSIST', KEYS[5]) end
end
-- The index is told of an eighth more than the lifetime, so that few commits have to change it.
if (lifetime > 0 and now + lifetime > (tonumber(expires) or 0)) or (lifetime == 0 and expires ~= 'no') then
  if version == 0 then redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', now) end
  local score = lifetime > 0 and now + lifetime + math.floor(lifetime / 8) or '+inf'
  redis.call('ZADD', KEYS[3], score, ARGV[6])
  redis.call('HSET', session, 'expires', lifetime > 0 and score or 'no')
  -- It lives as long as the session that lives longest.
  local last = redis.call('ZREVRANGE', KEYS[3], 0, 0, 'WITHSCORES')[2]
  if last == 'inf' then redis.call('PERSIST', KEYS[3]) else redis.call('PEXPIREAT', KEYS[3], last) end
end

-- The client is told to list a shard when its operation stands in place of the mark. That is looked at when a session
-- begins, at the commit after, where it was left undone by a crash, and now and then: the mark lasts a day.
if version % 8 < 2 and redis.call('GET', KEYS[4]) ~= 'yes' then
  redis.call('SET', KEYS[4], operation, 'EX', 60)
  return {'list', version + 1}
end
return {'done', version + 1}
`);
