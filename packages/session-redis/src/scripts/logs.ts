import { script } from './run-script.js';

// A log is one string: 13 digits with the time of its last change in milliseconds, then its bytes. So both change and expire together.
// Writes keep the log's lifetime. A new log gets the lifetime of its session or, if there is no session yet, that of its bucket.

/** Reads a log. Returns its bytes in a list, or nothing. Keys: log. Values: offset, length (or empty for the rest). */
export const readLogScript = script(`
if redis.call('EXISTS', KEYS[1]) == 0 then return false end
if ARGV[2] == '0' then return {''} end
local offset = 13 + ARGV[1]
return {redis.call('GETRANGE', KEYS[1], offset, ARGV[2] == '' and -1 or offset + ARGV[2] - 1)}
`);

/**
 * Changes a log, once per operation. Returns an error code if it changed nothing: \`not_found\` if the log does not exist and may not
 * be created. Keys: latest operations, log, session, lifetime. Values: mode (`write`, `new` or `append`), operation, bytes, and `first`
 * if the log may be created.
 */
export const writeLogScript = script(`
local operations, log, mode = KEYS[1], KEYS[2], ARGV[1]
if redis.call('ZSCORE', operations, ARGV[2]) then return false end
local isThere = redis.call('EXISTS', log) == 1
if isThere and mode == 'new' then return 'already_exists' end
if not isThere and ARGV[4] ~= 'first' then return 'not_found' end
local time = redis.call('TIME')
local now = string.format('%013.0f', time[1] * 1000 + math.floor(time[2] / 1000))
if isThere and mode == 'append' then
  redis.call('SETRANGE', log, 0, now)
  redis.call('APPEND', log, ARGV[3])
else
  local rest = redis.call('PTTL', isThere and log or KEYS[3])
  if rest == -2 then rest = tonumber(redis.call('GET', KEYS[4]) or '') or -1 end
  redis.call('SET', log, now .. ARGV[3])
  if rest > 0 then redis.call('PEXPIRE', log, rest) end
end
redis.call('ZREMRANGEBYSCORE', operations, '-inf', now - 120000)
redis.call('ZADD', operations, now, ARGV[2])
redis.call('PEXPIRE', operations, 120000)
return false
`);

/** Returns the time and the size of each log, or two empty texts. Keys: logs. */
export const statLogsScript = script(`
local found = {}
for number, log in ipairs(KEYS) do
  local size = redis.call('STRLEN', log)
  found[2 * number - 1] = redis.call('GETRANGE', log, 0, 12)
  found[2 * number] = size == 0 and '' or size - 13
end
return found
`);

/** Deletes logs. Keys: logs. */
export const deleteLogsScript = script(`return redis.call('UNLINK', unpack(KEYS))`);
