export { MysqlSession, type MysqlSessionOptions } from './mysql-session.js';
