/** Every file of the repository, NUL-separated: what git tracks, or all there is where git cannot tell. */
const FILES = `{ git ls-files -z 2>/dev/null || find . -type f -not -path '*/node_modules/*' -not -path './.git/*' -printf '%P\\0'; }`;

/** Lines of every file, then one line `files F, lines L`. */
export const MEASURE = `${FILES} | xargs -0 wc -l | awk '$2 == "total" && NF == 2 { next } { n++; lines += $1; print } END { print "files " n+0 ", lines " lines+0 }'`;

/**
 * `COUNT directory`, the largest first: the top-level directories with at least three files, or, where nearly all of a
 * directory's files lie in several subdirectories, those. No file is in two areas.
 */
export const AREAS = `${FILES} | tr '\\0' '\\n' | awk -F/ 'NF > 1 { n[$1]++ } NF > 2 { c[$1 "/" $2]++ } END { for (d in c) if (c[d] >= 3) { split(d, p, "/"); k[p[1]]++; s[p[1]] += c[d] } for (d in n) if (k[d] < 2 || s[d] < 0.9 * n[d]) { whole[d] = 1; if (n[d] >= 3) print n[d], d } for (d in c) { split(d, p, "/"); if (c[d] >= 3 && !(p[1] in whole)) print c[d], d } }' | sort -k1,1nr -k2`;

/** `COUNT extension`, the most frequent first. */
export const KINDS = `${FILES} | tr '\\0' '\\n' | sed -n 's/.*\\.\\([A-Za-z0-9]*\\)$/\\1/p' | sort | uniq -c | sort -k1,1nr -k2 | head -12`;

export const HISTORY = 'git log --oneline 2>/dev/null | head -15';

/** What has lines by chance alone, and would be an image or rubbish to whoever reads it. */
const BINARY = '[.](png|jpe?g|gif|webp|ico|svg|pdf|zip|gz|woff2?|wasm|db|sqlite)$';

/** `files F, lines L, tests T, largest N PATH` of one directory, its subdirectories included; the largest is a text. */
export function statsOf(area: string): string {
  return `${FILES} | tr '\\0' '\\n' | grep -F '${area}/' | awk -v a='${area}/' 'index($0, a) == 1' | tr '\\n' '\\0' | xargs -0 wc -l | awk '$2 == "total" && NF == 2 { next } { f++; l += $1; p = substr($0, index($0, $2)); if (p ~ /(^|[.\\/_-])(test|spec)s?[.\\/]/) t++; if ($1 > m && tolower(p) !~ /${BINARY}/) { m = $1; b = p } } END { print "files " f+0 ", lines " l+0 ", tests " t+0 ", largest " m+0 " " b }'`;
}
