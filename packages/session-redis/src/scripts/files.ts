import { script } from './script.js';

// All of these take the keys that `WorkspaceKeys.along` makes, first of all the file's, and after it the directories
// from the root to that in which the file lies; and, last of their values, the names along the path, one a directory. The
// first value of all but the deletion is the lifetime of files in milliseconds, 0 for ever: the key of a file ends by itself,
// and its name when somebody looks.

const lifetime = `
local lifetime = tonumber(ARGV[1])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function isGone(entry, file)
  if lifetime == 0 or string.sub(entry, 1, 1) ~= 'f' then return false end
  return tonumber(string.sub(entry, 2)) <= now - lifetime and redis.call('EXISTS', file) == 0
end
`;

/** What goes before scripts that need to know what is at the path, and why there may be nothing. */
const lookup = `${lifetime}
local depth = #KEYS - 1
local firstName = #ARGV - depth
local function at(level)
  local entry = redis.call('HGET', KEYS[level + 1], ARGV[firstName + level])
  if not entry or level < depth or not isGone(entry, KEYS[1]) then return entry end
  redis.call('HDEL', KEYS[level + 1], ARGV[firstName + level])
  return false
end
local function blocked()
  for level = 1, depth - 1 do
    local entry = at(level)
    if not entry then return 'not_found' end
    if string.sub(entry, 1, 1) == 'f' then return 'invalid_path' end
  end
  return 'not_found'
end
`;

/** Values: lifetime, offset, length (or nothing for the rest), names. Answers the bytes in a list, or why there are none. */
export const readScript = script(`${lookup}
if redis.call('EXISTS', KEYS[1]) == 1 then
  local offset = tonumber(ARGV[2])
  if ARGV[3] == '0' then return {''} end
  local last = ARGV[3] == '' and -1 or offset + tonumber(ARGV[3]) - 1
  return {redis.call('GETRANGE', KEYS[1], offset, last)}
end
local entry = at(depth)
if not entry then return blocked() end
return string.sub(entry, 1, 1) == 'd' and 'is_directory' or 'workspace_io'
`);

/**
 * Writes a file and makes the directories above it. Keys: that of the latest operations, then those of the path. Values:
 * lifetime, mode (`write`, `new` or `append`), operation, bytes, names. Answers why it did not.
 *
 * Clients send a command again when the connection broke before its reply, within seconds: what was done in the last
 * minutes is not done again.
 */
export const writeScript = script(`
local operations = table.remove(KEYS, 1)
${lookup}
if redis.call('ZSCORE', operations, ARGV[3]) then return false end
local entry = at(depth)
if entry and string.sub(entry, 1, 1) == 'd' then return 'is_directory' end
if entry and ARGV[2] == 'new' then return 'already_exists' end
if not entry and blocked() == 'invalid_path' then return 'invalid_path' end
local stamp = string.format('%.0f', now)
if not entry then
  for level = 1, depth - 1 do redis.call('HSETNX', KEYS[level + 1], ARGV[firstName + level], 'd' .. stamp) end
end
redis.call('HSET', KEYS[depth + 1], ARGV[firstName + depth], 'f' .. stamp)
redis.call(ARGV[2] == 'append' and 'APPEND' or 'SET', KEYS[1], ARGV[4])
-- A directory lives as long as the youngest file in it.
for _, key in ipairs(KEYS) do
  if lifetime > 0 then redis.call('PEXPIRE', key, lifetime) else redis.call('PERSIST', key) end
end
redis.call('ZREMRANGEBYSCORE', operations, '-inf', now - 120000)
redis.call('ZADD', operations, now, ARGV[3])
redis.call('PEXPIRE', operations, 120000)
return false
`);

/** Values: lifetime, names. Answers entry and size, or nothing. */
export const statScript = script(`${lookup}
local entry = at(depth)
return entry and {entry, redis.call('STRLEN', KEYS[1])}
`);

/**
 * Removes a file, or a directory with all that lies in it. Keys: those of the path, and the directory of the same
 * path. Names of other keys are made of these two, so all lie in the same slot. Answers whether there was one.
 */
export const deleteScript = script(`
local depth = #KEYS - 2
if redis.call('HDEL', KEYS[depth + 1], ARGV[depth]) == 0 then return 0 end
local function remove(file, directory)
  redis.call('UNLINK', file)
  for _, name in ipairs(redis.call('HKEYS', directory)) do remove(file .. '/' .. name, directory .. '/' .. name) end
  redis.call('UNLINK', directory)
end
remove(KEYS[1], KEYS[#KEYS])
return 1
`);

/**
 * The names in a directory, their entries and sizes. Value: lifetime. Keys: the directory, and a file key to which a name makes that of
 * a file.
 */
export const listScript = script(`${lifetime}
local all = redis.call('HGETALL', KEYS[1])
local found, sizes = {}, {}
for number = 1, #all, 2 do
  local name, entry = all[number], all[number + 1]
  if isGone(entry, KEYS[2] .. name) then
    redis.call('HDEL', KEYS[1], name)
  else
    found[#found + 1], found[#found + 2] = name, entry
    sizes[#sizes + 1] = redis.call('STRLEN', KEYS[2] .. name)
  end
end
return {found, sizes}
`);
