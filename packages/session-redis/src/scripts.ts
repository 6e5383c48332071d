import { createHash } from 'node:crypto';

export interface Script {
  readonly source: string;
  readonly sha1: string;
}

/**
 * Applies one change. Nothing is written before every check has passed, and Redis runs a script whole or not at all.
 *
 * The operation's id makes a commit idempotent: ioredis sends a command again when the connection broke before the
 * reply, and the first one may have been applied.
 */
export const commitScript = script(`
local session, messages, index, listed = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local expected, operation, keep, lifetime = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local member, head = ARGV[5], ARGV[6]
local current = redis.call('HMGET', session, 'version', 'count', 'operation', 'head', 'expires')
local version, count = tonumber(current[1] or '0'), tonumber(current[2] or '0')
-- The client is told to list a shard when its operation stands in place of the mark.
local function committed(at) return {'committed', at, redis.call('GET', listed) == operation and 1 or 0} end

if current[3] == operation then return committed(version) end
if redis.call('LLEN', messages) ~= count then return {'corrupt'} end
if expected ~= 'any' and tonumber(expected) ~= version then return {'conflict', version} end
if not (keep >= 0 and keep <= count and keep % 1 == 0) then return {'keep', count} end

if keep == 0 then redis.call('UNLINK', messages)
elseif keep < count then redis.call('LTRIM', messages, 0, keep - 1) end
-- Lua cannot unpack more than 8000 values at once.
for first = 7, #ARGV, 1000 do
  redis.call('RPUSH', messages, unpack(ARGV, first, math.min(first + 999, #ARGV)))
end

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function milliseconds(number) return string.format('%.0f', number) end
local expires = lifetime > 0 and 'yes' or 'no'
redis.call('HSET', session, 'version', version + 1, 'count', keep + #ARGV - 6,
  'updatedAt', milliseconds(now), 'operation', operation)
if current[4] ~= head then redis.call('HSET', session, 'head', head) end
if current[5] ~= expires then redis.call('HSET', session, 'expires', expires) end

if lifetime > 0 or current[5] ~= 'no' then
  if version == 0 then redis.call('ZREMRANGEBYSCORE', index, '-inf', milliseconds(now)) end
  if lifetime > 0 then
    local deadline = milliseconds(now + lifetime)
    redis.call('PEXPIREAT', session, deadline)
    redis.call('PEXPIREAT', messages, deadline)
    redis.call('ZADD', index, deadline, member)
  else
    redis.call('PERSIST', session)
    redis.call('PERSIST', messages)
    redis.call('ZADD', index, '+inf', member)
  end
  -- The index lives as long as the session that lives longest.
  local last = redis.call('ZREVRANGE', index, 0, 0, 'WITHSCORES')[2]
  if last == 'inf' then redis.call('PERSIST', index) else redis.call('PEXPIREAT', index, last) end
end
if redis.call('GET', listed) ~= 'yes' then redis.call('SET', listed, operation, 'EX', 60) end
return committed(version + 1)
`);

/** Marks a shard as listed for a day, unless the directory has let go of it since this operation began to list it. */
export const confirmListedScript = script(`
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('SET', KEYS[1], 'yes', 'EX', 86400) end
`);

/** Begins to list a shard that has sessions after all; answers whether it has. */
export const relistScript = script(`
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
redis.call('SET', KEYS[2], ARGV[1], 'EX', 60)
return 1
`);

/** Everything that is stored of a session, as of one moment. */
export const loadScript = script(`
local session = redis.call('HMGET', KEYS[1], 'version', 'count', 'updatedAt', 'head')
local messages = redis.call('LRANGE', KEYS[2], 0, -1)
if not session[1] and #messages == 0 then return false end
return {session[1], session[2], session[3], session[4], messages}
`);

/** Answers how many keys there were, and whether the shard has other sessions. */
export const deleteScript = script(`
local removed = redis.call('UNLINK', KEYS[1], KEYS[2])
redis.call('ZREM', KEYS[3], ARGV[1])
return {removed, redis.call('EXISTS', KEYS[3])}
`);

/** Version and time of sessions of one shard. Those that have expired leave the index. */
export const describeScript = script(`
local found = {}
for number, member in ipairs(ARGV) do
  local session = redis.call('HMGET', KEYS[number + 1], 'version', 'updatedAt')
  if not session[1] then redis.call('ZREM', KEYS[1], member) end
  found[number] = {session[1] or '', session[2] or ''}
end
return found
`);

function script(source: string): Script {
  return { source, sha1: createHash('sha1').update(source).digest('hex') };
}
