import { script } from './script.js';

/** Reads a session as of one moment. Keys: session, messages. Values: fields. */
export const loadScript = script(`
return {redis.call('HMGET', KEYS[1], unpack(ARGV)), redis.call('LRANGE', KEYS[2], 0, -1)}
`);

/**
 * Removes a session with its lease. Answers how much there was of the session, and whether the shard has others.
 *
 * Keys: session, messages, index, lease, fence. Values: member.
 */
export const deleteScript = script(`
local removed = redis.call('UNLINK', KEYS[1], KEYS[2])
redis.call('UNLINK', KEYS[4], KEYS[5])
redis.call('ZREM', KEYS[3], ARGV[1])
return {removed, redis.call('EXISTS', KEYS[3])}
`);

/** All members of a shard's index. */
export const membersScript = script(`
return redis.call('ZRANGE', KEYS[1], 0, -1)
`);

/**
 * Version and time of sessions of one shard. Those that have expired leave the index.
 *
 * Keys: index, sessions. Values: members.
 */
export const describeScript = script(`
local found = {}
for number, member in ipairs(ARGV) do
  local session = redis.call('HMGET', KEYS[number + 1], 'version', 'updatedAt')
  if not session[1] then redis.call('ZREM', KEYS[1], member) end
  found[number] = {session[1] or '', session[2] or ''}
end
return found
`);
