import { script } from './run-script.js';

// The keys of these scripts come from `WorkspaceKeys.along`: the file, then its parent directories from the root down. Their last
// values are the names along the path, one per directory.

/** Lua functions that look up the entry at the path, or return why there is none. Included in other scripts. */
const lookup = `
local depth = #KEYS - 1
local firstName = #ARGV - depth
local function at(level) return redis.call('HGET', KEYS[level + 1], ARGV[firstName + level]) end
local function blocked()
  for level = 1, depth - 1 do
    local entry = at(level)
    if not entry then return 'not_found' end
    if string.sub(entry, 1, 1) == 'f' then return 'invalid_path' end
  end
  return 'not_found'
end
`;

/** Reads a file. Returns its bytes in a list, or an error code. Values: offset, length (or empty for the rest), names. */
export const readScript = script(`${lookup}
if redis.call('EXISTS', KEYS[1]) == 1 then
  local offset = tonumber(ARGV[1])
  if ARGV[2] == '0' then return {''} end
  local last = ARGV[2] == '' and -1 or offset + tonumber(ARGV[2]) - 1
  return {redis.call('GETRANGE', KEYS[1], offset, last)}
end
local entry = at(depth)
if not entry then return blocked() end
return string.sub(entry, 1, 1) == 'd' and 'is_directory' or 'workspace_io'
`);

/**
 * Writes a file and creates its parent directories. Returns an error code if it wrote nothing. Keys: latest operations, then those
 * of the path. Values: mode (`write`, `new`, `append`, or `name` to add only the name of a file that is stored elsewhere), operation,
 * bytes, names.
 *
 * If a connection breaks before the reply, clients send the command again within seconds. Therefore an operation of the last two
 * minutes is not repeated.
 */
export const writeScript = script(`
local operations = table.remove(KEYS, 1)
${lookup}
if redis.call('ZSCORE', operations, ARGV[2]) then return false end
local entry = at(depth)
if entry and string.sub(entry, 1, 1) == 'd' then return 'is_directory' end
if entry and ARGV[1] == 'new' then return 'already_exists' end
if not entry and blocked() == 'invalid_path' then return 'invalid_path' end
local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
if not entry then
  for level = 1, depth - 1 do redis.call('HSETNX', KEYS[level + 1], ARGV[firstName + level], 'd' .. now) end
end
redis.call('HSET', KEYS[depth + 1], ARGV[firstName + depth], 'f' .. now)
if ARGV[1] == 'name' then return false end
redis.call(ARGV[1] == 'append' and 'APPEND' or 'SET', KEYS[1], ARGV[3])
redis.call('ZREMRANGEBYSCORE', operations, '-inf', now - 120000)
redis.call('ZADD', operations, now, ARGV[2])
redis.call('PEXPIRE', operations, 120000)
return false
`);

/** Returns entry and size of a path, or nothing. Values: names. */
export const statScript = script(`${lookup}
local entry = at(depth)
return entry and {entry, redis.call('STRLEN', KEYS[1])}
`);

/**
 * Deletes a file, or a directory with its contents. Returns nothing if the path does not exist, else the suffixes of removed logs'
 * paths. Keys: those of the path, and the directory at the path.
 *
 * The script derives further keys from these, which are in the same slot. While that slot moves, Redis stops the script at the first
 * key on another node. The path's name is removed last, so the script can be run again.
 */
export const deleteScript = script(`
local depth = #KEYS - 2
if redis.call('HEXISTS', KEYS[depth + 1], ARGV[depth]) == 0 then return false end
local removed = {}
local function remove(rest)
  local file, directory = KEYS[1] .. rest, KEYS[#KEYS] .. rest
  local names = redis.call('HKEYS', directory)
  if #names == 0 and (rest == '' or string.sub(rest, -10) == '.log.jsonl') then removed[#removed + 1] = rest end
  for _, name in ipairs(names) do remove(rest .. '/' .. name) end
  redis.call('UNLINK', file)
  redis.call('UNLINK', directory)
end
remove('')
redis.call('HDEL', KEYS[depth + 1], ARGV[depth])
return removed
`);

/**
 * Returns the names in a directory with their entries and sizes. Keys: the directory, and the key prefix of its files.
 */
export const listScript = script(`
local found = redis.call('HGETALL', KEYS[1])
local sizes = {}
for number = 1, #found, 2 do
  sizes[#sizes + 1] = redis.call('STRLEN', KEYS[2] .. found[number])
end
return {found, sizes}
`);

/** Removes names from a directory that are older than an hour. Keys: directory. Values: names. */
export const forgetNamesScript = script(`
local now = redis.call('TIME')[1] * 1000
for _, name in ipairs(ARGV) do
  local entry = redis.call('HGET', KEYS[1], name)
  if entry and now - string.sub(entry, 2) > 3600000 then redis.call('HDEL', KEYS[1], name) end
end
`);
