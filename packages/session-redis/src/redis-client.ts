/**
 * What a {@link RedisSession} asks of a client. `Redis` and `Cluster` of ioredis 5 and 6 both have it, behind Sentinel
 * as well, and with a `keyPrefix` of their own.
 */
export interface RedisClient {
  eval(script: string, keyCount: number, keysAndArguments: string[]): Promise<unknown>;
  evalsha(sha1: string, keyCount: number, keysAndArguments: string[]): Promise<unknown>;
  zadd(key: string, ...scoresAndMembers: (string | number)[]): Promise<unknown>;
  zrem(key: string, ...members: string[]): Promise<unknown>;
  zrange(key: string, first: string, last: string): Promise<string[]>;
  zrangebylex(
    key: string,
    from: string,
    to: string,
    limit: 'LIMIT',
    offset: number,
    count: number,
  ): Promise<string[]>;
  del(key: string): Promise<unknown>;
}
