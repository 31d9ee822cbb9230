/** Every bound of the KMIP socket, for one worker. Times in milliseconds, sizes in bytes. */
export interface SocketLimits {
  /** Maximum size of a message. */
  readonly messageBytes: number
  /** Total size of the messages of all connections that are unfinished, waiting or being answered. */
  readonly bufferedBytes: number
  readonly handshakeMs: number
  /** Maximum time from the first byte of a message to the last. */
  readonly messageMs: number
  /** Maximum time without traffic on a connection, including one whose client does not read its answers. */
  readonly idleMs: number
  /** How long the rest of a refused message is read and discarded, so that the client can read the answer. */
  readonly lingerMs: number
  readonly connections: number
  readonly connectionsPerAddress: number
}

export const defaultSocketLimits: SocketLimits = {
  messageBytes: 64 * 1024 * 1024,
  bufferedBytes: 256 * 1024 * 1024,
  handshakeMs: 10_000,
  messageMs: 30_000,
  idleMs: 600_000,
  lingerMs: 1000,
  connections: 20_000,
  connectionsPerAddress: 2_000,
}
