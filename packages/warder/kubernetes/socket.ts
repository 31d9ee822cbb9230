import { chmodSync, lstatSync, rmSync, statSync } from 'node:fs'
import { connect } from 'node:net'
import { dirname } from 'node:path'
import { type Server, ServerCredentials } from '@grpc/grpc-js'
import { StartupError } from '@warder/base'

/** The longest path of a Unix socket on Linux, without its NUL. */
const maxPathBytes = 107
/** Grace period for pending calls when the provider stops. */
const stopWithinMs = 5000
const onlyOwner = 0o600

export interface BoundSocket {
  /** Waits for pending calls, and removes the socket. */
  close(): Promise<void>
}

/**
 * Serves on a Unix socket with mode 0600. Replaces the socket of a killed provider, but not that of a running process or
 * another file at that path.
 *
 * @throws StartupError
 */
export async function bindSocket(server: Server, path: string): Promise<BoundSocket> {
  if (Buffer.byteLength(path) > maxPathBytes)
    throw new StartupError(`the path of the socket is longer than ${maxPathBytes} bytes: ${path}`)
  const folder = dirname(path)
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw new StartupError(`the folder ${folder} of the socket does not exist: create it with mode 0700`)
  await removeStale(path)
  await bind(server, path)
  const { ino } = lstatSync(path)
  return {
    async close() {
      await shutDown(server)
      // Only our own socket: another provider may have created a new one meanwhile.
      if (lstatSync(path, { throwIfNoEntry: false })?.ino === ino) rmSync(path, { force: true })
    },
  }
}

async function removeStale(path: string): Promise<void> {
  const there = lstatSync(path, { throwIfNoEntry: false })
  if (there === undefined) return
  if (!there.isSocket()) throw new StartupError(`${path} exists and is not a socket: nothing was changed`)
  if (await isServed(path)) throw new StartupError(`another process already serves on ${path}`)
  rmSync(path, { force: true })
}

function isServed(path: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = connect(path)
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED' || error.code === 'ENOENT') resolve(false)
      else reject(new StartupError(`cannot tell whether another process serves on ${path}: ${error.message}`))
    })
  })
}

async function bind(server: Server, path: string): Promise<void> {
  // Restricts the mode from the start: after a later chmod, another user could already have connected.
  const before = process.umask(0o177)
  try {
    await new Promise<void>((resolve, reject) => {
      server.bindAsync(`unix:${path}`, ServerCredentials.createInsecure(), (error) => {
        if (error === null) resolve()
        else reject(new StartupError(`cannot serve on ${path}: ${error.message}`, { cause: error }))
      })
    })
  } finally {
    process.umask(before)
  }
  chmodSync(path, onlyOwner)
}

function shutDown(server: Server): Promise<void> {
  return new Promise((resolve) => {
    const late = setTimeout(() => {
      server.forceShutdown()
      resolve()
    }, stopWithinMs)
    server.tryShutdown(() => {
      clearTimeout(late)
      resolve()
    })
  })
}
