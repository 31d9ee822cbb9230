/**
 * KMIP over its own port: mutual TLS, binary TTLV, many messages over one connection (KMIP 2.1 §10). The service's
 * routes over HTTPS are in `kmip/engine`; both call the same `KmipEngine`.
 */
export { createKmipSocket, type KmipSocket, type KmipSocketOptions } from './kmip-socket.ts'
export type { SocketLimits } from './limits.ts'
