/** A value that Redis accepts. Text is sent as UTF-8. */
export type RedisValue = string | Buffer;

/**
 * The client functions that this package needs. `Redis` and `Cluster` of ioredis 5 and 6 have them, also with Sentinel or a `keyPrefix`.
 * {@link fromNodeRedis} adds them to a client of node-redis.
 */
export interface RedisClient {
  /** Runs `eval` or `evalsha` and returns replies as bytes. The values begin with the script or its hash, and the number of keys. */
  callBuffer(command: 'eval' | 'evalsha', values: RedisValue[]): Promise<unknown>;
  hmget(key: string, ...fields: string[]): Promise<unknown[]>;
  lrange(key: string, first: number, last: number): Promise<unknown[]>;
  /** `false` if commands run in the order in which they are sent. That is not the case with a Cluster or a pool. */
  readonly isCluster?: boolean;
  /** Called once, to read the eviction policy. */
  info?(section: string): Promise<unknown>;
}
