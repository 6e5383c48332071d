import { script } from './run-script.js';

/**
 * Grants a lease unless somebody has it, and answers its fence.
 *
 * The fence is one more than the last, and no less than the microseconds of the server's clock: where the record of the
 * last one is gone with a deleted session, the next is larger all the same. It fits a double until the year 2255.
 * The record stays as long as the session does; before there is a session, a day longer than the lease.
 *
 * The lifetime is noted for the bucket: the log of a session is written to before the session is, and ends without it.
 *
 * Keys: lease, fence, session, lifetime. Values: holder, milliseconds, lifetime of the session.
 */
export const grantScript = script(`
local holder, milliseconds, lifetime = redis.call('GET', KEYS[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
-- Sent twice: the connection broke before the first reply.
if holder == ARGV[1] then return redis.call('GET', KEYS[2]) end
if holder then return false end
local time = redis.call('TIME')
local fence = math.max(tonumber(redis.call('GET', KEYS[2]) or '0') + 1, time[1] * 1000000 + time[2])
fence = string.format('%.0f', fence)
redis.call('SET', KEYS[1], ARGV[1], 'PX', milliseconds)
if lifetime > 0 then
  local longest = redis.call('GET', KEYS[4])
  if not longest or (longest ~= 'no' and tonumber(longest) <= lifetime) then
    redis.call('SET', KEYS[4], lifetime, 'PX', lifetime)
  end
  redis.call('SET', KEYS[2], fence, 'PX', math.max(lifetime, milliseconds))
elseif redis.call('EXISTS', KEYS[3]) == 1 then
  redis.call('SET', KEYS[2], fence)
else
  redis.call('SET', KEYS[2], fence, 'PX', milliseconds + 86400000)
end
return fence
`);

/** Tells whether somebody has a lease. Keys: lease. */
export const leasedScript = script(`return redis.call('EXISTS', KEYS[1])`);

/**
 * Begins a lease's time anew, also when it has run out but nobody else has had one since. Answers whether it did.
 *
 * Keys: lease, fence. Values: holder, milliseconds, fence, lifetime of the session.
 */
export const renewScript = script(`
local milliseconds, lifetime = tonumber(ARGV[2]), tonumber(ARGV[4])
if redis.call('GET', KEYS[2]) ~= ARGV[3] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', milliseconds)
local rest = redis.call('PTTL', KEYS[2])
local wanted = lifetime > 0 and math.max(lifetime, milliseconds) or milliseconds + 86400000
if rest >= 0 and rest < wanted then redis.call('PEXPIRE', KEYS[2], wanted) end
return 1
`);

/** Keys: lease. Values: holder. */
export const releaseScript = script(`
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0
`);

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
