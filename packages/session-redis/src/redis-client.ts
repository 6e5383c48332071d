/** What Redis takes: text is sent as UTF-8. */
export type RedisValue = string | Buffer;

/**
 * What this package asks of a client. `Redis` and `Cluster` of ioredis 5 and 6 have it, behind Sentinel as well, and
 * with a `keyPrefix` of their own; {@link fromNodeRedis} gives it to a client of node-redis.
 */
export interface RedisClient {
  eval(script: string, keyCount: number, keysAndArguments: RedisValue[]): Promise<unknown>;
  evalsha(sha1: string, keyCount: number, keysAndArguments: RedisValue[]): Promise<unknown>;
  /** The first two with replies as bytes; the values begin with script or hash, and number of keys. */
  callBuffer(command: 'eval' | 'evalsha', values: RedisValue[]): Promise<unknown>;
  hmget(key: string, ...fields: string[]): Promise<unknown[]>;
  lrange(key: string, first: number, last: number): Promise<unknown[]>;
  /** `false` where commands are done in the order in which they are sent; not so where a slot moves, or of a pool. */
  readonly isCluster?: boolean;
  /** Asked once, for the eviction policy. */
  info?(section: string): Promise<unknown>;
}
