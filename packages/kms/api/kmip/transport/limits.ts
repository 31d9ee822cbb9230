/** Every bound of the KMIP socket, for one worker. Times in milliseconds, sizes in bytes. */
export interface SocketLimits {
  /** The largest message that is read. */
  readonly messageBytes: number
  /** Unfinished messages of all connections together, those that wait for their turn, and those being answered. */
  readonly bufferedBytes: number
  readonly handshakeMs: number
  /** From the first byte of a message to its last. */
  readonly messageMs: number
  /** A connection on which nothing moves, also one whose client does not read its answers. */
  readonly idleMs: number
  /** How long the rest of a refused message is read and thrown away, so that its client gets to read the answer. */
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
