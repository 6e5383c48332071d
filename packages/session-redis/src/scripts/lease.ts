import { script } from './run-script.js';

/** Milliseconds (30 days) for which Redis keeps the lease of a process that died, and the fence of a session that was never stored. */
const KEPT_MS = 30 * 86_400_000;

/**
 * Takes a lease that is free, already held by this claim, or has the given fence. Returns the new fence.
 *
 * The fence is one more than the last one, and at least the server's time in microseconds. Therefore it grows even if the last
 * fence was deleted with its session. It fits a double until the year 2255. The fence is kept as long as the session.
 *
 * The lifetime is also stored for the bucket, because a session's log is written before the session, and expires by itself.
 *
 * Keys: lease, fence, session, lifetime. Values: claim, lifetime of the session, fence to take over or empty.
 */
export const takeScript = script(`
local claim, lifetime = redis.call('GET', KEYS[1]), tonumber(ARGV[2])
if claim and claim ~= ARGV[1] and (ARGV[3] == '' or redis.call('GET', KEYS[2]) ~= ARGV[3]) then return false end
local time = redis.call('TIME')
local fence = math.max(tonumber(redis.call('GET', KEYS[2]) or '0') + 1, time[1] * 1000000 + time[2])
fence = string.format('%.0f', fence)
redis.call('SET', KEYS[1], ARGV[1], 'PX', ${KEPT_MS})
if lifetime > 0 then
  local longest = redis.call('GET', KEYS[4])
  if not longest or (longest ~= 'no' and tonumber(longest) <= lifetime) then
    redis.call('SET', KEYS[4], lifetime, 'PX', lifetime)
  end
end
if lifetime == 0 and redis.call('EXISTS', KEYS[3]) == 1 then
  redis.call('SET', KEYS[2], fence)
else
  redis.call('SET', KEYS[2], fence, 'PX', math.max(lifetime, ${KEPT_MS}))
end
return fence
`);

/**
 * Returns whether no larger fence is stored. If a failover lost the lease, writes it again.
 *
 * Keys: lease, fence. Values: claim, fence.
 */
export const confirmScript = script(`
local newest = tonumber(redis.call('GET', KEYS[2]) or '0')
if newest > tonumber(ARGV[2]) then return 0 end
if newest < tonumber(ARGV[2]) then
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ${KEPT_MS})
  redis.call('SET', KEYS[2], ARGV[2], 'PX', ${KEPT_MS})
end
return 1
`);

/** Returns claim and fence of a held lease. Keys: lease, fence. */
export const findScript = script(`return redis.call('MGET', KEYS[1], KEYS[2])`);

/**
 * Releases the lease of a claim. Keeps its fence for the session's lifetime. A lock has no fence. Keys: lease, fence. Values: claim,
 * lifetime.
 */
export const releaseScript = script(`
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
if KEYS[2] and tonumber(ARGV[2]) > 0 then redis.call('PEXPIRE', KEYS[2], ARGV[2]) end
return redis.call('DEL', KEYS[1])
`);

/**
 * Renews the record of a process, and returns its notes. An existing record is renewed by a command that Redis accepts even when its
 * memory is full. Keys: process, notes. Values: milliseconds, acknowledged notes.
 */
export const beatScript = script(`
if redis.call('PEXPIRE', KEYS[1], ARGV[1]) == 0 then redis.call('SET', KEYS[1], 1, 'PX', ARGV[1]) end
for number = 2, #ARGV do
  if redis.call('LINDEX', KEYS[2], 0) == ARGV[number] then redis.call('LPOP', KEYS[2]) end
end
redis.call('PEXPIRE', KEYS[2], ARGV[1])
return redis.call('LRANGE', KEYS[2], 0, -1)
`);

/** Returns the time at which the record of a process expires, which changes with every beat; nothing if there is none. Keys: process. */
export const lookScript = script(`
local rest, time = redis.call('PTTL', KEYS[1]), redis.call('TIME')
return rest > 0 and string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000) + rest)
`);

/** Stores a note for a process if its record exists. Keys: process, notes. Values: note. */
export const sendScript = script(`
local rest = redis.call('PTTL', KEYS[1])
if rest <= 0 then return 0 end
redis.call('RPUSH', KEYS[2], ARGV[1])
return redis.call('PEXPIRE', KEYS[2], rest)
`);

/** Deletes the record of a process and its notes. Keys: process, notes. */
export const retireScript = script(`return redis.call('UNLINK', KEYS[1], KEYS[2])`);

/** Takes a lock if it is free or has the same holder. Returns whether it succeeded. Keys: lock. Values: holder, milliseconds. */
export const takeLockScript = script(`
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
`);

/** Extends a lock. Returns whether it was still held. Keys: lock. Values: holder, milliseconds. */
export const keepLockScript = script(`
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
`);
