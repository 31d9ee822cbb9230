import type { Socket } from 'node:net'
import type { Connection } from './connections.ts'
import { rememberRead } from './node-internals/list-verb.ts'

/**
 * To be called when a reply stays in this process, until its caller takes it or until it is its turn. Node then stops
 * reading at the next request, so that a client that sends without reading cannot fill the memory; but its parser, which
 * reads past the socket's stream, refuses what TLS still hands over from what it has deciphered (`HPE_PAUSED`), and an
 * honest caller loses the connection. A listener on the stream makes node read through it from now on, and
 * the stream keeps such bytes. See docs/adr/node-performance.md.
 */
export function readThroughStream(connection: Connection, socket: Socket): void {
  if (connection.throughStream) return
  connection.throughStream = true
  socket.on('data', (bytes: Buffer) => rememberRead(socket, bytes))
}
